"""Records as a table for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bench.board.formats import budget
from bench.scoring.metrics import METRICS

if TYPE_CHECKING:
    from bench.records.model import Record

# More rows than anybody reads; a board pools them.
MOST = 300


def show(records: Sequence[Record]) -> None:
    """One row per record; beside each value, in brackets, what a random guess reaches. Failures are said below."""
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 160)
    if len(records) <= MOST:
        _tables(records, console)
    else:
        said = f"{len(records):,} records are too many for a table: bench leaderboard --results DIR --out board"
        console.print(said, markup=False, highlight=False, soft_wrap=True)
    for record in records:
        if record["status"] != "ok":
            line = f"{record['status']}: {record['defense']['label']} × {record['attack']['label']}: {record['error']}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _tables(records: Sequence[Record], console: Any) -> None:
    from rich.markup import escape
    from rich.table import Table

    columns = [m for m in METRICS if any(m in r["metrics"] for r in records)]
    for place in dict.fromkeys((r["dataset"]["label"], r["encoder"]["label"]) for r in records):
        rows = [r for r in records if (r["dataset"]["label"], r["encoder"]["label"]) == place]
        data = rows[0]["dataset"]
        title = f"{place[0]} · {place[1]} · {data['examples']} private examples"
        if "candidates" in data:
            title += f" among {data['candidates']:,} candidates"
        table = Table(title=title, caption="value (random guess); the records hold 95 % intervals")
        private = any("accounted" in r.get("notes", {}) for r in rows)
        for name in ("defense", *(["ε"] if private else []), "attack", "seed", *columns, "seconds"):
            table.add_column(name, justify="left" if name in ("defense", "attack") else "right")
        for record in rows:
            cells = [_value(record, name) for name in columns]
            if record["status"] != "ok":
                cells = [f"[red]{record['status']}[/red]"] + [""] * (len(columns) - 1) if columns else []
            seconds = str(record["cost"].get("attack_s", ""))
            about = [escape(record["defense"]["label"]), *([budget(record.get("notes", {}))] if private else [])]
            table.add_row(*about, escape(record["attack"]["label"]), str(record["seed"]), *cells, seconds)
        console.print(table)


def show_utility(rows: Sequence[dict[str, Any]]) -> None:
    """One row per defense and metric, with what the undefended vectors reach and what a constant answer does."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="utility: the task's own metric on dev")
    words = ("dataset", "encoder", "defense", "metric")
    for name in (*words, "mean", "deviation", "seeds", "undefended", "majority", "ε"):
        table.add_column(name, justify="left" if name in words else "right")
    for row in rows:
        numbers = ["–" if row[n] is None else f"{row[n]:.3f}" for n in ("mean", "deviation")]
        beside = ["–" if row[n] is None else f"{row[n]:.3f}" for n in ("undefended", "majority")]
        table.add_row(*(str(row[n]) for n in words), *numbers, str(row["seeds"]), *beside, budget(row["notes"]))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _value(record: Record, name: str) -> str:
    metric = record["metrics"].get(name)
    if not metric or metric["value"] is None:
        return "–"
    random = f" ({metric['random']:.3f})" if metric.get("random") is not None else ""
    return f"{metric['value']:.3f}{random}"
