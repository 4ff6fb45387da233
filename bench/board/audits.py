"""Audits on the board: what experiments show of each defense's ε, summarised over seeds."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from bench.board import commands, select
from bench.board.model import AuditRow, DefenseRow
from bench.board.pooling import rounded
from bench.board.staleness import StaleRecords
from bench.plugins.labels import natural_sort_key
from bench.records.model import AuditRecord


def rows(selection: select.Selection[AuditRecord], suites: Sequence[str], stale: StaleRecords) -> list[AuditRow]:
    found: dict[tuple[str, ...], AuditRow] = {}
    for name in suites:
        groups: dict[tuple[str, ...], list[AuditRecord]] = defaultdict(list)
        for record in selection.boards.get(name, []):
            if record.status == "ok":
                groups[select.audit_experiment(record)].append(record)
        for key in sorted(groups, key=natural_sort_key):
            row = _row(sorted(groups[key], key=lambda r: r.seed), stale)
            known = found.get(tuple(row.ids), row)
            found[tuple(row.ids)] = known.model_copy(update={"suites": [*known.suites, name]})
    return list(found.values())


def beside(row: DefenseRow, audits: Sequence[AuditRow]) -> float | None:
    """The highest bound that any game shows of a defense."""
    return max((a.audited for a in audits if a.target == row.target), default=None)


def _row(group: Sequence[AuditRecord], stale: StaleRecords) -> AuditRow:
    first, ids = group[0], [r.id for r in group]
    return AuditRow(
        dataset=first.dataset.label,
        encoder=first.model,
        defense=first.defense.label,
        protocol=select.audit_protocol(first),
        claimed=_mean([r.claimed_epsilon for r in group]),
        actual=_mean([r.actual_epsilon for r in group]),
        audited=_mean([r.audited for r in group]) or 0.0,
        ceiling=_mean([r.ceiling for r in group]) or 0.0,
        delta=first.delta,
        verdicts={word: count for word in VERDICTS if (count := sum(r.verdict == word for r in group))},
        seeds=[r.seed for r in group],
        ids=ids,
        command=commands.repeat_command(group),
        stale=stale.components(ids),
    )


VERDICTS = ("refuted", "consistent", "vacuous")


def _mean(values: Sequence[float | str | None]) -> float | None:
    known = [float(value) for value in values if isinstance(value, float | int)]
    return rounded(statistics.fmean(known)) if known else None
