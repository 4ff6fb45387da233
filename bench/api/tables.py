"""Records as tables for people: in a terminal, as plain text, and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from bench.board.formats import budget
from bench.board.utility import summarize
from bench.records.model import AttackRecord, Record, UtilityRecord
from bench.scoring.metrics import METRICS

# More rows than anybody reads; a board pools them.
MOST = 300
# Columns where no terminal says how wide it is.
WIDTH = 160


class Shown:
    """Tables and lines that a terminal (rich) or a notebook displays, and `str` gives as plain text."""

    def __init__(self, parts: Sequence[Table | Text]):
        self.parts = tuple(parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.parts

    def __str__(self) -> str:
        return self._text(WIDTH)

    def _repr_html_(self) -> str:
        """In a notebook: as wide as the widest table, in a box that scrolls."""
        console = Console(width=10 * WIDTH)
        widest = max((Measurement.get(console, console.options, part).maximum for part in self.parts), default=WIDTH)
        style = "white-space: pre; overflow-x: auto; line-height: normal; font-family: monospace"
        return f'<pre style="{style}">{html.escape(self._text(min(widest, 10 * WIDTH)))}</pre>'

    def _text(self, width: int) -> str:
        console = Console(width=width, force_jupyter=False, color_system=None)
        with console.capture() as captured:
            self.print(console)
        return captured.get()

    def print(self, console: Console) -> None:
        """Tables as wide as the console; lines as long as they are, for whoever searches them."""
        for part in self.parts:
            console.print(part, soft_wrap=isinstance(part, Text))


def of(records: Sequence[Record]) -> Shown:
    """Attacks one row per record, training one row per defense; failures are said below."""
    attacks = [record for record in records if isinstance(record, AttackRecord)]
    trainings = [record for record in records if isinstance(record, UtilityRecord)]
    parts: list[Table | Text] = []
    if len(attacks) > MOST:
        parts.append(Text(f"{len(attacks):,} records are too many for a table: bench leaderboard --results DIR"))
    else:
        parts += _attack_tables(attacks)
    if trainings:
        parts.append(_utility_table(trainings))
    return Shown([*parts, *_failures(records)])


def _failures(records: Sequence[Record]) -> Iterator[Text]:
    for record in records:
        if record.status != "ok":
            against = f" × {record.attack.label}" if isinstance(record, AttackRecord) else ""
            yield Text(f"{record.status}: {record.defense.label}{against} seed {record.seed}: {record.error}")


def _attack_tables(records: Sequence[AttackRecord]) -> Iterator[Table]:
    """A table for each data set and encoder; beside each value, in brackets, what a random guess reaches."""
    columns = [m for m in METRICS if any(m in r.metrics for r in records)]
    for place in dict.fromkeys((r.dataset.label, r.encoder.label) for r in records):
        yield _attack_table([r for r in records if (r.dataset.label, r.encoder.label) == place], columns)


def _attack_table(rows: Sequence[AttackRecord], columns: Sequence[str]) -> Table:
    data = rows[0].dataset
    title = f"{data.label} · {rows[0].encoder.label} · {data.examples} private examples"
    if data.candidates is not None:
        title += f" among {data.candidates:,} candidates"
    table = Table(title=escape(title), caption="value (random guess); the records hold 95 % intervals")
    private = any(r.accounted for r in rows)
    for name in ("defense", *(["ε"] if private else []), "attack", "seed", *columns, "seconds"):
        table.add_column(name, justify="left" if name in ("defense", "attack") else "right")
    for record in rows:
        values = [_value(record, name) for name in columns]
        if record.status != "ok" and columns:
            values = [f"[red]{record.status}[/red]"] + [""] * (len(columns) - 1)
        about = [escape(record.defense.label), *([budget(record.notes)] if private else [])]
        seconds = "" if record.cost.attack_s is None else str(record.cost.attack_s)
        table.add_row(*about, escape(record.attack.label), str(record.seed), *values, seconds)
    return table


def _value(record: AttackRecord, name: str) -> str:
    metric = record.metrics.get(name)
    if metric is None or not isinstance(metric.value, float | int):
        return "–"
    random = f" ({metric.random:.3f})" if isinstance(metric.random, float | int) else ""
    return f"{metric.value:.3f}{random}"


def _utility_table(records: Sequence[UtilityRecord]) -> Table:
    """One row per defense and metric, with what the undefended vectors reach and what a constant answer does."""
    table = Table(title="utility: the task's own metric on dev")
    words = ("dataset", "encoder", "defense", "metric")
    for name in (*words, "mean", "deviation", "seeds", "undefended", "majority", "ε"):
        table.add_column(name, justify="left" if name in words else "right")
    for row in summarize(records):
        mean, deviation, undefended, majority = (
            "–" if value is None else f"{value:.3f}"
            for value in (row.mean, row.deviation, row.undefended, row.majority)
        )
        seeds = f"{row.seeds} ({row.failed} failed)" if row.failed else str(row.seeds)
        names = [escape(name) for name in (row.dataset, row.encoder, row.defense, row.metric)]
        table.add_row(*names, mean, deviation, seeds, undefended, majority, budget(row.notes))
    return table
