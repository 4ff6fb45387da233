"""Writes the table of docs/choosing.md from the board: which defense at which audited ε, what it costs, what leaks.

`python benchmarks/choosing.py` after `bench leaderboard`; `--check` says whether the table is what the board has.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "choosing.md"
START, END = "<!-- table:start -->", "<!-- table:end -->"
SUITES = {"what-holds", "what-holds-utility", "audit"}
HEAD = ("data set", "defense", "ε claimed", "ε actual", "ε audited", "utility (undefended)", "strongest attack")


def table(board: dict[str, Any]) -> str:
    """A row for each defense on each data set of the suites on what holds."""
    rows: dict[tuple[str, str], dict[str, str]] = {}

    def row(some: dict[str, Any]) -> dict[str, str]:
        return rows.setdefault((some["dataset"], some["defense"]), {})

    for found in (u for u in board["utility"] if SUITES & {*u["suites"]}):
        for metric, (mean, deviation, undefended, _) in found["metrics"].items():
            spread = "" if deviation is None else f" ± {deviation:.3f}"
            beside = "" if undefended is None else f" ({undefended:.3f})"
            row(found)["utility (undefended)"] = f"{metric} {mean:.3f}{spread}{beside}"
        row(found).update(_budget(found["epsilon"]))
    for found in (d for d in board["defenses"] if d["suite"] in SUITES and d["worst"]):
        worst = found["worst"]
        random = ", no better than random" if worst["at_random"] else ""
        said = f"{worst['attack']}: {worst['value']:.3f} [{worst['low']:.3f}, {worst['high']:.3f}]{random}"
        row(found)["strongest attack"] = f"{said}, of {found['attacks']}"
        row(found).update(_budget(found["epsilon"]))
    for found in (a for a in board["audits"] if SUITES & {*a["suites"]}):
        verdict = ", ".join(f"{word} {count}/{len(found['seeds'])}" for word, count in found["verdicts"].items())
        here = row(found)
        before = float(here.get("audited", "-1"))
        if found["audited"] > before:
            here |= {"audited": str(found["audited"]), "ε audited": f"≥ {found['audited']:.2f}, {verdict}"}
        if found["claimed"] is not None:
            here |= {"ε claimed": f"{found['claimed']:g}", "ε actual": f"{found['actual']:.4g}"}
    lines = [HEAD, ("---",) * len(HEAD)]
    lines += [(*key, *(about.get(name, "–") for name in HEAD[2:])) for key, about in sorted(rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _budget(found: dict[str, float] | None) -> dict[str, str]:
    return {"ε claimed": f"{found['nominal']:g}", "ε actual": f"{found['accounted']:.4g}"} if found else {}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    made = f"{before}{START}\n{table(json.loads((ROOT / 'leaderboards' / 'board.json').read_text()))}\n{END}{after}"
    if args.check:
        return int(made != text)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
