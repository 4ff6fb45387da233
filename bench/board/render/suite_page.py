"""The page of one suite: its tables, and what stands below them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.board import formats
from bench.board.columns import AUDITS, CELLS, DEFENSES, UTILITY, UtilityLine, legend, shown
from bench.board.marks import cell_marks, used_marks
from bench.board.model import (
    AuditRow,
    Board,
    BoardCell,
    DefenseRow,
    MetricSummary,
    PrintedValue,
    PublishedNumber,
    SuiteSummary,
    UtilityRow,
)
from bench.board.render.markup import Aside, Block, Heading, Items, Table, Text
from bench.board.select import ADHOC
from bench.errors import plain
from bench.scoring.metrics import METRICS

MADE = "Made by `bench leaderboard` from records; do not edit. "
ATTACKS = """A defense is as good as the best attack on it: defenses are sorted by their worst case, the best hidden
first, in tiers. Two are in different tiers only if a bootstrap over the private examples, on the same examples unless
noted, tells them apart at 95 %. A value is a mean over seeds with its 95 % interval; the interval takes seeds as
independent, although they draw from the same data. Beside it stand the random level and the attack's seconds. Protocols
(private examples × encodings of each) are never averaged over."""
UTILITIES = """A value is a mean over seeds, with their standard deviation where there are several."""
GAMES = """An audit tells apart what a defense promises to keep apart, and bounds its ε from below with 95 % confidence.
A bound above the claim refutes it; one below it proves nothing, since a better experiment may show more."""
SHOW = (
    "The legend at the end explains columns, marks and metrics; `bench show ID` prints how a number was made and the \
command that repeats it."
)


def suite_page(board: Board, name: str) -> list[Block]:
    suite = board.suites[name]
    title = f"{name}, version {suite.version}" if suite.version else name
    cells = [c for c in board.cells if name in c.suites]
    rows = [row for row in board.defenses if row.suite == name]
    utility = [u for u in board.utility if name in u.suites]
    audits = [a for a in board.audits if name in a.suites]
    blocks: list[Block] = [Heading(title, 1), *([Text(suite.title)] if suite.title else [])]
    blocks.append(Text(f"{MADE}{ATTACKS if cells else UTILITIES if utility else GAMES}\n{SHOW}"))
    blocks.append(Items(list(_state(name, suite))))
    for place in sorted({row.place for some in (cells, utility, audits) for row in some}):
        blocks += [Heading(", ".join(place)), *_missing(suite, place)]
        blocks += _attacked([r for r in rows if r.place == place], [c for c in cells if c.place == place])
        trained = [u for u in utility if u.place == place]
        blocks += [Heading("Utility", 3), _utility_table(trained)] if trained else []
        played = [a for a in audits if a.place == place]
        blocks += [Heading("Audits", 3), _audit_table(played)] if played else []
    return [*blocks, *_theirs_and_ours(board, name), *_legend(rows, cells, utility, audits)]


def _attacked(rows: Sequence[DefenseRow], cells: Sequence[BoardCell]) -> list[Block]:
    if not cells:
        return []
    blocks = [matrix(rows, cells), *_comparisons(rows), *_failures(cells), *_stale(cells), *_samples(cells)]
    return [*blocks, Aside([Heading("All metrics", 3), _all_metrics(cells)])]


def matrix(rows: Sequence[DefenseRow], cells: Sequence[BoardCell]) -> Table:
    """Defenses down, attacks across, the worst case first."""
    about = shown(DEFENSES, rows)
    attacks = sorted({(c.attack, c.protocol) for c in cells})
    by_attack = {key: [c for c in cells if (c.attack, c.protocol) == key] for key in attacks}
    heads = ["\n".join([a, p, "/".join(sorted({c.metric or "" for c in by_attack[a, p]}))]) for a, p in attacks]
    sees = [", ".join(by_attack[key][0].sees) for key in attacks]
    lines = [[*("sees" if column.key == "defense" else "" for column in about), *sees]]
    for row in rows:
        here = [[c for c in by_attack[key] if c.defense == row.defense] for key in attacks]
        values = ["\n".join(map(_value, some)) or "–" for some in here]
        lines.append([*(column.text(row) for column in about), *values])
    return Table([*(column.title for column in about), *heads], lines)


def _state(name: str, suite: SuiteSummary) -> Iterable[str]:
    yield f"{suite.records} records, {suite.failed} failed; {suite.superseded} superseded by newer ones"
    if suite.stale:
        yield f"{suite.stale} records are stale: made by code that has changed since"
    if name == ADHOC:
        return
    if suite.problem:
        yield f"what is missing is not known: {suite.problem}"
        return
    yield f"{suite.missing:,} of {suite.named:,} planned runs are not finished"
    if untouched := [f"{p.dataset}, {p.encoder}" for p in suite.places if p.missing == p.named]:
        yield f"not run at all: {'; '.join(untouched)}"
    if suite.file_version != suite.version:
        yield f"the suite is at version {suite.file_version}; these records are of version {suite.version}"


def _missing(suite: SuiteSummary, place: tuple[str, str]) -> list[Block]:
    here = [p for p in suite.places if (p.dataset, p.encoder) == place and p.missing]
    return [Text(f"{p.missing} of {p.named} cells are missing here.") for p in here]


def _value(cell: BoardCell) -> str:
    if cell.value is None:
        statuses = "/".join(sorted({f.status for f in cell.failed}))
        stale = f" {cell_marks(cell, ('stale',))}" if cell.stale else ""
        return f"✗ {statuses} {len(cell.failed)}/{len(cell.seeds)}{stale}" if cell.failed else "–"
    beside = [] if cell.random is None else [f"random {cell.random:.3f}"]
    beside += [] if cell.cost.attack_s is None else [formats.seconds(cell.cost.attack_s)]
    lines = [f"{cell.value:.3f} [{cell.low:.3f}, {cell.high:.3f}] {cell_marks(cell)}".rstrip(), ", ".join(beside)]
    lines += [
        f"{p.metric} {cell.metrics[p.metric].value:.3f}, theirs {p.value:.3f} ({p.table})"
        for p in cell.published
        if p.metric in (cell.metric, "identity") and p.metric in cell.metrics
    ]
    return "\n".join(line for line in lines if line)


def _comparisons(rows: Sequence[DefenseRow]) -> list[Block]:
    """Where tiers were not told apart by the strongest attacks on the same examples."""
    how = {"unpaired": "compared on examples drawn independently"}
    lines = [
        f"{row.defense}: {how.get(row.basis, f'compared on the same examples, {row.basis}')}"
        for row in rows
        if row.basis not in (None, "paired")
    ]
    return [Items(lines)] if lines else []


def _failures(cells: Sequence[BoardCell]) -> list[Block]:
    lines = [
        f"✗ {f.status}, {c.defense} × {c.attack}, seed {f.seed} (`{formats.short_id(f.id)}`): {plain(f.error)}"
        for c in cells
        for f in c.failed
    ]
    return [Items(lines)] if lines else []


def _stale(cells: Sequence[BoardCell]) -> list[Block]:
    count = sum(bool(c.stale) for c in cells)
    said = f"↻ {count} of {len(cells)} values rest on stale records: `bench records verify` lists them."
    return [Text(said)] if count else []


def _samples(cells: Sequence[BoardCell]) -> list[Block]:
    """Where the suite kept wrong answers too; without them there is little to read."""
    some = [(c, s) for c in cells for s in c.samples]
    if not some or any(s.answer is None for _, s in some):
        return []
    rows = [[c.defense, c.attack, s.example, s.answer or "", "yes" if s.right else "no"] for c, s in some]
    head = ["defense", "attack", "query", "answer", "right?"]
    said = Text("Right: the answer is one of the sentences that are mixed into the encoding.")
    return [Heading("Queries and answers", 3), said, Table(head, rows)]


def _all_metrics(cells: Sequence[BoardCell]) -> Table:
    columns = shown(CELLS, cells, "metrics")
    names = _metric_names(cells)
    *before, records = columns
    rows = [
        [
            *(c.text(cell) for c in before),
            *(_metric(cell.metrics.get(m)) for m in names),
            records.text(cell),
        ]
        for cell in cells
    ]
    return Table([*(c.title for c in before), *names, records.title], rows)


def _metric_names(cells: Sequence[BoardCell]) -> list[str]:
    return [m for m in METRICS if any(m in cell.metrics for cell in cells)]


def _metric(metric: MetricSummary | None) -> str:
    if metric is None:
        return "–"
    random = "" if metric.random is None else f" ({formats.number(metric.random)})"
    return f"{formats.number(metric.value)} {formats.interval(metric.low, metric.high)}{random}"


def _utility_table(rows: Sequence[UtilityRow]) -> Table:
    lines = [UtilityLine(row, metric, summary) for row in rows for metric, summary in row.metrics.items()]
    columns = shown(UTILITY, lines)
    cells = [[column.text(line) for column in columns] for line in lines]
    return Table([column.title for column in columns], cells)


def _audit_table(rows: Sequence[AuditRow]) -> Table:
    columns = shown(AUDITS, rows)
    return Table([column.title for column in columns], [[column.text(row) for column in columns] for row in rows])


def _printed(number: PrintedValue) -> str:
    random = "" if number.random is None else f" ({number.random:.3f})"
    return formats.spread(number.value, number.deviation) + random


def _theirs_and_ours(board: Board, name: str) -> list[Block]:
    """What the papers print beside what was measured here, whether or not it was run."""
    numbers = [n for n in board.published if n.suite == name]
    rows = []
    for number in numbers:
        for encoder, ours in _ours(board, number) or [(number.encoder, "not run")]:
            about = [number.dataset, encoder, number.defense, number.attack or "–", number.metric]
            rows.append([*about, _printed(number), ours, number.source])
    differs = board.suites[name].differs
    blocks: list[Block] = [Heading("Theirs and ours")] if rows or differs else []
    blocks += [Text(differs)] if differs else []
    beside = " (random)" if any(n.attack for n in numbers) else ""
    head = ["dataset", "encoder", "defense", "attack", "metric", f"theirs{beside}", f"ours{beside}", "source"]
    return [*blocks, *([Table(head, rows)] if rows else [])]


def _ours(board: Board, number: PublishedNumber) -> list[tuple[str, str]]:
    """Encoder and value: of the suite itself if it has such a cell, else of any other."""
    if not number.attack:
        trained = [u for u in board.utility if number.fits(*u.target, "") and number.metric in u.metrics]
        mine = [u for u in trained if number.suite in u.suites] or trained
        found = [(u, u.metrics[number.metric]) for u in mine]
        return [(u.encoder, f"{formats.spread(s.mean, s.deviation)}, {u.epochs} epochs") for u, s in found]
    # A run that failed is shown as such: without a value, but not as one that was never made.
    same = [c for c in board.cells if number.fits(*c.target, c.attack) and (number.metric in c.metrics or c.failed)]
    cells = [c for c in same if number.suite in c.suites] or same
    return [
        (c.encoder, ", ".join(filter(None, [_metric(c.metrics.get(number.metric)), c.protocol, _lost(c)])))
        for c in cells
    ]


def _lost(cell: BoardCell) -> str:
    return cell_marks(cell, ("failed", "stale"))


def _legend(
    rows: Sequence[DefenseRow], cells: Sequence[BoardCell], utility: Sequence[UtilityRow], audits: Sequence[AuditRow]
) -> list[Block]:
    """One sentence for each column, mark and metric of the tables above."""
    lines = [UtilityLine(row, metric, summary) for row in utility for metric, summary in row.metrics.items()]
    columns: list[str] = []
    if cells:
        columns += legend([*shown(DEFENSES, rows), *shown(CELLS, cells, "metrics")])
    if lines:
        columns += legend(shown(UTILITY, lines))
    if audits:
        columns += legend(shown(AUDITS, audits))
    said = [*dict.fromkeys(columns), *legend([], used_marks(cells, utility), _metric_names(cells))]
    return [Heading("Legend"), Items(said)]
