"""Records as tables for people: in a terminal, as plain text, and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from bench.board.columns import legend, metric_legend, shown
from bench.board.record_columns import AUDITS, TRAININGS, RecordLine, terminal
from bench.board.utility import summarize
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
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
    """Attacks one row per record, training one row per defense; failures and a legend below."""
    attacks = [record for record in records if isinstance(record, AttackRecord)]
    trainings = [record for record in records if isinstance(record, UtilityRecord)]
    parts: list[Table | Text] = []
    if len(attacks) > MOST:
        parts.append(Text(f"{len(attacks):,} records are too many for a table: bench leaderboard --results DIR"))
    else:
        parts += _attack_tables(attacks)
    if trainings:
        parts += _utility_tables(trainings)
    if audits := [record for record in records if isinstance(record, AuditRecord) and record.status == "ok"]:
        parts += _audit_table(audits)
    return Shown([*parts, *_failures(records)])


def _failures(records: Sequence[Record]) -> Iterator[Text]:
    for record in records:
        if record.status != "ok":
            against = f" × {record.attack.label}" if isinstance(record, AttackRecord) else ""
            yield Text(f"{record.status}: {record.defense.label}{against} seed {record.seed}: {record.error}")


def _attack_tables(records: Sequence[AttackRecord]) -> Iterator[Table | Text]:
    """A table for each data set and encoder; beside each value, in brackets, what a random guess reaches."""
    names = [m for m in METRICS if any(m in r.metrics for r in records)]
    for place in dict.fromkeys((r.dataset.label, r.model) for r in records):
        yield _attack_table([r for r in records if (r.dataset.label, r.model) == place], names)
    lines = metric_legend(names)
    if lines:
        yield Text("\n".join(lines), style="dim")


def _attack_table(records: Sequence[AttackRecord], names: Sequence[str]) -> Table:
    data = records[0].dataset
    title = f"{data.label} · {records[0].model} · {data.examples} private examples"
    if data.candidates is not None:
        title += f" among {data.candidates:,} candidates"
    lines = [RecordLine(record) for record in records]
    columns = terminal(lines, names)
    private = ", ε claimed → accounted" if any(column.key == "budget" for column in columns) else ""
    caption = f"value (random guess){private}; the records hold 95 % intervals"
    table = Table(title=escape(title), caption=caption)
    for column in columns:
        table.add_column(column.title, justify="right" if column.numeric else "left", overflow="fold")
    for line in lines:
        failed = line.record.status != "ok"
        texts = {column.key: escape(column.text(line)) for column in columns}
        if failed and names:
            texts |= {**dict.fromkeys(names, ""), names[0]: f"[red]{line.record.status}[/red]"}
        table.add_row(*(texts[column.key] for column in columns))
    return table


def _audit_table(records: Sequence[AuditRecord]) -> Iterator[Table | Text]:
    table = Table(title="audits: lower bounds on ε by experiment, with 95 % confidence")
    columns = shown(AUDITS, records, "terminal")
    for column in columns:
        table.add_column(column.title, justify="right" if column.numeric else "left", overflow="fold")
    for record in records:
        table.add_row(*(escape(column.text(record)) for column in columns))
    yield table
    yield Text("\n".join(legend(columns)), style="dim")


def _utility_tables(records: Sequence[UtilityRecord]) -> Iterator[Table | Text]:
    """One row per defense and metric, with what the undefended vectors reach and what a constant answer does."""
    lines = summarize(records)
    columns = shown(TRAININGS, lines)
    table = Table(title="utility: the task's own metric on dev")
    for column in columns:
        table.add_column(column.title, justify="right" if column.numeric else "left", overflow="fold")
    for line in lines:
        table.add_row(*(escape(column.text(line)) for column in columns))
    yield table
    yield Text("\n".join(legend(column for column in columns if column.numeric)), style="dim")
