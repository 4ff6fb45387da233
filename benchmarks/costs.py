"""Makes the tables of docs/utility.md from the records of `bench utility`, between the markers that stand there.

bench utility --suite dp-ie-figure1 --out results
python benchmarks/costs.py results docs/utility.md
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from bench.costs import summary
from bench.records import read_all
from bench.table import budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    args = parser.parse_args()
    rows = summary(read_all(args.results / "utility"))
    text = args.page.read_text(encoding="utf-8")
    pattern = r"(<!-- utility -->\n).*?(<!-- end -->)"
    made = "\n".join(table(rows, place) for place in sorted({(row["dataset"], row["encoder"]) for row in rows}))
    text = re.sub(pattern, lambda m: f"{m[1]}{made}\n{m[2]}", text, flags=re.S)
    args.page.write_text(text, encoding="utf-8")


def table(rows: list[dict[str, Any]], place: tuple[str, str]) -> str:
    here = [row for row in rows if (row["dataset"], row["encoder"]) == place]
    metrics = list(dict.fromkeys(row["metric"] for row in here))
    by = {(row["defense"], row["metric"]): row for row in here}
    floor = ", ".join(f"{m} {next(row['majority'] for row in here if row['metric'] == m):.3f}" for m in metrics)
    lines = [f"\n**{place[0]}, {place[1]}** (a constant answer: {floor})\n"]
    lines += [f"| defense | ε claimed → held | {' | '.join(metrics)} | seeds |"]
    lines += ["| --- | --- |" + " --- |" * (len(metrics) + 1)]
    for defense in sorted({row["defense"] for row in here}, key=_order):
        found = [by[defense, metric] for metric in metrics]
        values = [f"{row['mean']:.3f}" + (f" ± {row['deviation']:.3f}" if row["deviation"] else "") for row in found]
        lines.append(f"| {defense} | {budget(found[0]['notes'])} | {' | '.join(values)} | {found[0]['seeds']} |")
    return "\n".join(lines)


def _order(label: str) -> tuple[int, str, float]:
    kinds = ("none", "mix-only", "texthide:", "texthide", "texthide-inter", "dp-ie")
    name = label.split(":")[0]
    number = re.search(r"(?:epsilon|m)=([\d.]+)", label)
    kind = next((i for i, word in enumerate(kinds) if name.startswith(word)), len(kinds))
    return (kind, name, -float(number[1]) if number else 0.0)


if __name__ == "__main__":
    main()
