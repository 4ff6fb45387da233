"""Records as tables for people: in a terminal, as plain text, and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from bench.api.fitting import Renderable, fitted
from bench.board import known, pooling
from bench.board.columns import legend, metric_legend, shown
from bench.board.learnt import nothing_learnt
from bench.board.record_columns import AUDITS, TRAININGS, RecordLine, all_metrics, leak_only
from bench.board.utility import summarize
from bench.errors import plain
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
from bench.scoring.metrics import METRICS

# More rows than anybody reads; a board pools them.
MOST = 300
# Columns where no terminal says how wide it is.
WIDTH = 160
# Narrower than this, no table can be read; lines are folded by the terminal instead.
NARROWEST = 40
Part = Text | Callable[[int], Renderable]


class Shown:
    """Tables and lines that a terminal (rich) or a notebook displays, and `str` gives as plain text.

    A table is made for the width that there is, so that nothing in it is cut.
    """

    def __init__(self, parts: Sequence[Part]):
        self.parts = tuple(parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self._made(options.max_width)

    def __str__(self) -> str:
        return self._text(WIDTH)

    def _repr_html_(self) -> str:
        """In a notebook: as wide as the widest table, in a box that scrolls."""
        console = Console(width=10 * WIDTH)
        made = self._made(10 * WIDTH)
        widest = max((Measurement.get(console, console.options, part).maximum for part in made), default=WIDTH)
        style = "white-space: pre; overflow-x: auto; line-height: normal; font-family: monospace"
        return f'<pre style="{style}">{html.escape(self._text(min(widest, 10 * WIDTH)))}</pre>'

    def _text(self, width: int) -> str:
        console = Console(width=width, force_jupyter=False, color_system=None)
        with console.capture() as captured:
            self.print(console)
        return captured.get()

    def _made(self, width: int) -> list[Renderable]:
        return [part if isinstance(part, Text) else part(width) for part in self.parts]

    def print(self, console: Console) -> None:
        """Tables as wide as the console; lines as long as they are, for whoever searches them."""
        for part in self._made(console.width):
            console.print(part, soft_wrap=isinstance(part, Text))


def of(records: Sequence[Record], metrics: str = "leak", trained: Sequence[UtilityRecord] = ()) -> Shown:
    """Attacks one row per record, training one row per defense; failures and a legend below.

    `metrics`: "leak" for the one that counts, "all" for every one. `trained`: the training runs that attacked cells
    have their utility from.
    """
    attacks = [record for record in records if isinstance(record, AttackRecord)]
    trainings = [record for record in records if isinstance(record, UtilityRecord)]
    parts: list[Part] = []
    if len(attacks) > MOST:
        parts.append(Text(f"{len(attacks):,} records are too many for a table: bench leaderboard --results DIR"))
    else:
        parts += _attack_tables(attacks, trained, every=metrics == "all")
    if trainings:
        parts += _utility_tables(trainings)
    if audits := [record for record in records if isinstance(record, AuditRecord) and record.status == "ok"]:
        parts += _audit_table(audits)
    return Shown([*parts, *_failures(records)])


def _failures(records: Sequence[Record]) -> Iterator[Text]:
    for record in records:
        if record.status != "ok":
            against = f" × {record.attack.label}" if isinstance(record, AttackRecord) else ""
            yield Text(f"{record.status}: {record.defense.label}{against} seed {record.seed}: {plain(record.error)}")
            if traceback := getattr(record, "details", {}).get("traceback"):
                yield Text("\n".join(traceback), style="dim")


def _attack_tables(records: Sequence[AttackRecord], trained: Sequence[UtilityRecord], *, every: bool) -> Iterator[Part]:
    """A table for each data set and encoder."""
    names = [m for m in METRICS if any(m in r.metrics for r in records)]
    for place in dict.fromkeys((r.dataset.label, r.model) for r in records):
        here = [r for r in records if (r.dataset.label, r.model) == place]
        yield partial(_attack_table, here, names if every else ())
    told = names if every else [m for m in names if any(pooling.headline([r]) == m for r in records)]
    lines = metric_legend(told)
    lines += [text for text in (known.assumption(records), *known.warnings(records), *known.rivals(records)) if text]
    lines += nothing_learnt(trained)
    lines += dict.fromkeys(
        f"{cut}, and what is beyond is in no update: raise max_length of --encoder, as far as the model has places"
        for record in records
        if (cut := record.notes.get("cut"))
    )
    if lines:
        yield Text("\n".join(lines), style="dim")


def _attack_table(records: Sequence[AttackRecord], names: Sequence[str], width: int) -> Renderable:
    """With `names`, every one of these metrics; without, the one that says how much was found."""
    data = records[0].dataset
    title = f"{data.label} · {records[0].model}"
    if data.examples is not None:
        title += f" · {data.examples:,} private examples"
    if data.candidates is not None:
        title += f" among {data.candidates:,} candidates"
    lines = [RecordLine(record) for record in records]
    columns = all_metrics(lines, names) if names else leak_only(lines)
    private = "ε claimed → actual; " if any(column.key == "budget" for column in columns) else ""
    value = "value (random guess); " if names else ""
    first = names[0] if names else "leak"
    rows = []
    for line in lines:
        texts = {column.key: column.text(line) for column in columns}
        if line.record.status != "ok":
            texts |= {**dict.fromkeys(names, ""), first: line.record.status}
        rows.append([texts[column.key] for column in columns])
    return fitted(columns, rows, width, title, f"{value}{private}the records hold 95 % intervals")


def _audit_table(records: Sequence[AuditRecord]) -> Iterator[Part]:
    columns = shown(AUDITS, records, "terminal")
    rows = [[column.text(record) for column in columns] for record in records]
    title = "audits: lower bounds on ε by experiment, with 95 % confidence"
    yield lambda width: fitted(columns, rows, width, title)
    yield Text("\n".join(legend(columns)), style="dim")


def _utility_tables(records: Sequence[UtilityRecord]) -> Iterator[Part]:
    """One row per defense and metric, with what the undefended vectors reach and what a constant answer does."""
    lines = summarize(records)
    columns = shown(TRAININGS, lines)
    rows = [[column.text(line) for column in columns] for line in lines]
    yield lambda width: fitted(columns, rows, width, "utility: the task's own metric on dev")
    said = [*legend(column for column in columns if column.numeric), *nothing_learnt(records)]
    yield Text("\n".join(said), style="dim")
