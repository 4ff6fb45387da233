"""From records to the board: selected, pooled over seeds, ranked, and beside what the papers print."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from bench.board import audits as audit_rows
from bench.board import missing, papers, pooling, ranking, select, trust
from bench.board import utility as utility_rows
from bench.board.bootstrap import Bootstrap
from bench.board.model import Board, BoardCell, DefenseRow, PublishedNumber, SuiteSummary
from bench.board.staleness import StaleRecords
from bench.errors import BenchError
from bench.plugins.labels import natural_sort_key
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord


def build(
    records: Sequence[AttackRecord],
    utility: Sequence[UtilityRecord],
    registry: Registry | None = None,
    *,
    audits: Sequence[AuditRecord] = (),
    untrusted: bool = False,
) -> Board:
    """`untrusted`: the code of attacks is not imported."""
    if not records and not utility and not audits:
        raise BenchError("no records to make tables from: run some cells first")
    registry = registry or Registry()
    records, utility = [*map(trust.judged, records)], [*map(trust.judged, utility)]
    audits = [*map(trust.judged, audits)]
    newest = select.newest_versions([*records, *utility, *audits])
    attacked = select.by_suite(records, select.attack_experiment, newest)
    trained = select.by_suite(utility, select.training_experiment, newest)
    audited = select.by_suite(audits, select.audit_experiment, newest)
    names = _order({*attacked.boards, *trained.boards, *audited.boards})
    stale = StaleRecords([*attacked.newest, *trained.newest, *audited.newest])
    printed = [number for number in papers.load(registry) if number.on_boards]
    trainings = utility_rows.rows(trained, names, printed, stale)
    games = audit_rows.rows(audited, names, stale)
    bootstrap = Bootstrap(attacked.newest)
    rivals = ranking.Rivals(bootstrap, _experiments(attacked.newest, stale))
    cells: dict[tuple[str, ...], BoardCell] = {}
    defenses: list[DefenseRow] = []
    suites: dict[str, SuiteSummary] = {}
    for name in names:
        shown, training = attacked.boards.get(name, []), trained.boards.get(name, [])
        experiments = _experiments(shown, stale)
        for experiment in experiments:
            cell = cells.setdefault(tuple(experiment.cell.ids), experiment.cell)
            cells[tuple(cell.ids)] = cell.model_copy(update={"suites": [*cell.suites, name]})
        ranked = ranking.rank(name, bootstrap, experiments)
        beside = utility_rows.beside(name, [row.target for row in ranked], trainings)
        defenses += [
            row.model_copy(update={"utility": u, "audited": audit_rows.beside(row, games)})
            for row, u in zip(ranked, beside, strict=True)
        ]
        played = audited.boards.get(name, [])
        superseded = sum(some.superseded.get(name, 0) for some in (attacked, trained, audited))
        suite = _coverage(name, shown, training, played, registry, untrusted)
        suites[name] = _summary(suite, newest.get(name), [*shown, *training, *played], superseded, stale)
    ids = {i for cell in cells.values() for i in cell.ids} | {i for row in trainings for i in row.ids}
    ids |= {i for row in games for i in row.ids}
    return Board(
        records=len(ids),
        stale=stale.count(ids),
        suites=suites,
        cells=[_compared(cell, printed, rivals) for cell in cells.values()],
        defenses=defenses,
        utility=trainings,
        audits=games,
        published=[p for p in printed if p.suite in suites],
    )


def _experiments(records: Iterable[AttackRecord], stale: StaleRecords) -> list[ranking.Experiment]:
    """Records by experiment, seeds in order."""
    groups: dict[tuple[str, ...], list[AttackRecord]] = defaultdict(list)
    for record in records:
        groups[select.attack_experiment(record)].append(record)
    ordered = (sorted(groups[key], key=lambda r: r.seed) for key in sorted(groups, key=natural_sort_key))
    return [ranking.Experiment(group, pooling.cell(group, stale)) for group in ordered]


def _order(names: Iterable[str]) -> list[str]:
    """The main board first, records of no suite last."""
    return sorted(names, key=lambda name: (name == select.ADHOC, name != "main", name))


def _coverage(
    name: str,
    attacks: Sequence[AttackRecord],
    utility: Sequence[UtilityRecord],
    audits: Sequence[AuditRecord],
    registry: Registry,
    untrusted: bool,
) -> missing.SuiteCoverage:
    if name == select.ADHOC:
        return missing.SuiteCoverage(title="Records that were run for no suite")
    return missing.coverage(name, attacks, utility, registry, audits=audits, untrusted=untrusted)


def _summary(
    suite: missing.SuiteCoverage,
    version: int | None,
    records: Sequence[Record],
    superseded: int,
    stale: StaleRecords,
) -> SuiteSummary:
    return SuiteSummary(
        version=version,
        title=suite.title,
        missing=sum(suite.missing.values()),
        failed=sum(r.status != "ok" for r in records),
        stale=stale.count(r.id for r in records),
        records=len(records),
        superseded=superseded,
        differs=suite.differs,
        file_version=suite.version,
        problem=suite.problem,
        places=suite.places,
    )


def _compared(cell: BoardCell, printed: Sequence[PublishedNumber], rivals: ranking.Rivals) -> BoardCell:
    """The cell beside what papers print, and marked where another attack is stronger."""
    stronger = rivals.stronger(cell)
    return cell.model_copy(
        update={
            "published": [p.printed for p in printed if p.fits(*cell.target, cell.attack)],
            "marks": [*cell.marks, *(["stronger"] if stronger else [])],
            "stronger": stronger,
        }
    )
