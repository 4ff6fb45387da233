"""Tables from records: Markdown for people, CSV for programs. Generated, never edited by hand."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import BenchError
from .files import write_text
from .records import Record
from .table import METRICS, budget

HEAD = """# Leaderboard

Made by `bench leaderboard` from {count} records; every line of leaderboard.csv names its record. Values are means
over the runs that came to an end, with a 95 % interval; in brackets the value that random guessing reaches. A defense
is only as good as the best attack on it. Runs that failed are counted beside the others.
"""


def build(records: Sequence[Record]) -> dict[str, str]:
    """File name → content."""
    if not records:
        raise BenchError("no records to make tables from: run some cells first")
    # Of records of the same cell, made by different code, the newest supersedes the others.
    newest = {(_group(r), r["seed"]): r for r in sorted(records, key=lambda r: r["cost"].get("ended", ""))}
    ordered = sorted(newest.values(), key=lambda r: (_group(r), r["seed"]))
    return {"leaderboard.md": _markdown(ordered), "leaderboard.csv": _csv(ordered)}


def write(folder: Path, tables: dict[str, str]) -> list[Path]:
    for name, text in tables.items():
        write_text(folder / name, text)
    return [folder / name for name in tables]


def stale(folder: Path, tables: dict[str, str]) -> list[Path]:
    """The tables that are missing or differ from what the records give."""
    paths = {folder / name: text for name, text in tables.items()}
    return [p for p, text in paths.items() if not p.is_file() or p.read_text(encoding="utf-8") != text]


def _group(record: Record) -> tuple[str, ...]:
    """What must agree for two records to be the same experiment with another seed."""
    size, public = record["protocol"], record["public"]
    protocol = f"{size['examples']} × {size['epochs']}"
    if record["dataset"].get("candidates", record["dataset"]["size"]) < record["dataset"]["size"] * size["coverage"]:
        protocol += f", {record['dataset']['candidates']} candidates"
    if size["coverage"] < 1:
        protocol += f", coverage {size['coverage']:g}"
    if size["split"] != "train":
        protocol += f", queries from {size['split']}"
    if public:
        protocol += f", public {public['name']}"
    if record.get("sealed"):
        protocol += ", sealed"
    return (*_place(record), record["defense"]["label"], record["attack"]["label"], protocol)


def _place(record: Record) -> tuple[str, str]:
    return record["dataset"]["label"], record["encoder"]["label"]


def _markdown(records: Sequence[Record]) -> str:
    parts = [HEAD.format(count=len(records))]
    by_place: dict[tuple[str, str], dict[tuple[str, ...], list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        by_place[_place(record)][_group(record)[2:]].append(record)
    for (dataset, encoder), groups in by_place.items():
        columns = [m for m in METRICS if any(m in r["metrics"] for g in groups.values() for r in g)]
        head = ["defense", "ε claimed → accounted", "attack", "sees", "protocol", *columns, "runs"]
        lines = [f"\n## {dataset}, {encoder}\n", _row(head), _row(["---"] * len(head))]
        for (defense, attack, size), group in groups.items():
            good = [r for r in group if r["status"] == "ok"]
            runs = f"{len(group)}" if len(good) == len(group) else f"{len(group)}, {len(group) - len(good)} failed"
            sees = ", ".join(group[0]["attack"]["sees"])
            epsilon = budget(group[0].get("notes", {}))
            lines.append(_row([defense, epsilon, attack, sees, size, *(_cell(good, m) for m in columns), runs]))
        failed = [r for group in groups.values() for r in group if r["status"] != "ok"]
        lines += [""] * bool(failed)
        lines += [
            f"- {r['status']}, {r['defense']['label']} × {r['attack']['label']}, seed {r['seed']}: {r['error']}"
            for r in failed
        ]
        parts.append("\n".join(lines) + "\n")
    return "".join(parts)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _cell(records: Sequence[Record], name: str) -> str:
    metrics = [r["metrics"][name] for r in records if r["metrics"].get(name, {}).get("value") is not None]
    if not metrics:
        return "–"
    mean, low, high, random = pooled(metrics)
    beside = "" if random is None else f" ({random:.3f})"
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]{beside}"


def pooled(metrics: Sequence[dict[str, Any]]) -> tuple[float, float, float, float | None]:
    """Mean over seeds. Seeds draw their own examples, so half-widths add as independent errors do."""
    n = len(metrics)
    mean = sum(m["value"] for m in metrics) / n
    below = sum((m["value"] - m["low"]) ** 2 for m in metrics) ** 0.5 / n
    above = sum((m["high"] - m["value"]) ** 2 for m in metrics) ** 0.5 / n
    randoms = [m["random"] for m in metrics if m.get("random") is not None]
    return mean, mean - below, mean + above, sum(randoms) / len(randoms) if randoms else None


def _csv(records: Sequence[Record]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    about = [
        "id",
        "status",
        "dataset",
        "encoder",
        "defense",
        "attack",
        "sees",
        "examples",
        "epochs",
        "candidates",
        "coverage",
        "split",
        "public",
        "seed",
        "epsilon",
        "accounted_epsilon",
    ]
    parts = ("value", "low", "high", "random")
    columns = [m for m in METRICS if any(m in r["metrics"] for r in records)]
    writer.writerow([*about, *(f"{m}_{p}" for m in columns for p in parts), "attack_s", "peak_mib", "error"])
    for r in records:
        writer.writerow(
            [
                *(r["id"], r["status"], *_place(r), r["defense"]["label"], r["attack"]["label"]),
                *(" ".join(r["attack"]["sees"]), r["protocol"]["examples"], r["protocol"]["epochs"]),
                *(r["dataset"].get("candidates", ""), r["protocol"]["coverage"], r["protocol"]["split"]),
                *((r["public"] or {}).get("name", ""), r["seed"]),
                *(r.get("notes", {}).get(n, {}).get("epsilon", "") for n in ("nominal", "accounted")),
                *(_blank(r["metrics"].get(m, {}).get(p)) for m in columns for p in parts),
                *(r["cost"].get("attack_s", ""), r["cost"].get("peak_mib", ""), r["error"] or ""),
            ]
        )
    return out.getvalue()


def _blank(value: Any) -> Any:
    return "" if value is None else value
