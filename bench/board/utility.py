"""What defenses leave of a task: records of utility, summarised over seeds."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.board import commands, pooling, select
from bench.board.model import PublishedNumber, UtilityRow, UtilitySummary
from bench.board.staleness import StaleRecords
from bench.plugins.labels import natural_sort_key
from bench.records.model import UtilityRecord

# The defense that hides nothing, beside which all others are judged.
UNDEFENDED = "none"


@dataclass(frozen=True)
class SeedSummary:
    """One metric of one defense: mean and deviation over seeds, beside the undefended figure of the same data."""

    dataset: str
    encoder: str
    defense: str
    metric: str
    mean: float
    deviation: float | None
    majority: float
    undefended: float | None
    failed: int
    """training runs that failed, and have no part in the mean"""
    records: Sequence[UtilityRecord]


def summarize(records: Sequence[UtilityRecord]) -> list[SeedSummary]:
    """A line for each data set, encoder, defense and metric, in the order of the records."""
    groups: dict[tuple[str, str, str], list[UtilityRecord]] = {}
    failed = Counter(_labels(record) for record in records if record.status != "ok")
    for record in records:
        if record.status == "ok":
            groups.setdefault(_labels(record), []).append(record)
    lines = []
    for (dataset, encoder, defense), group in groups.items():
        undefended = groups.get((dataset, encoder, UNDEFENDED), [])
        for metric in group[0].metrics:
            values = _values(group, metric)
            line = SeedSummary(
                *(dataset, encoder, defense, metric),
                mean=statistics.fmean(values),
                deviation=statistics.stdev(values) if len(values) > 1 else None,
                majority=statistics.fmean(r.majority[metric] for r in group),
                undefended=statistics.fmean(_values(undefended, metric)) if undefended else None,
                failed=failed[dataset, encoder, defense],
                records=group,
            )
            lines.append(line)
    return lines


def rows(
    selection: select.Selection[UtilityRecord],
    suites: Sequence[str],
    printed: Sequence[PublishedNumber],
    stale: StaleRecords,
) -> list[UtilityRow]:
    """The utility of defenses, by suite and by how the head was trained."""
    found: dict[tuple[str, ...], UtilityRow] = {}
    for name in suites:
        by_training: dict[str, list[UtilityRecord]] = defaultdict(list)
        for record in selection.boards.get(name, []):
            if record.status == "ok" and all(isinstance(value, int | float) for value in record.metrics.values()):
                by_training[select.training_key(record)].append(record)
        for _, some in sorted(_beside_the_undefended(by_training).items()):
            for row in _rows(some, printed, stale):
                known = found.get(tuple(row.ids), row)
                found[tuple(row.ids)] = known.model_copy(update={"suites": [*known.suites, name]})
    return list(found.values())


def _beside_the_undefended(by_training: dict[str, list[UtilityRecord]]) -> dict[str, list[UtilityRecord]]:
    """Defenses that bring their own head have no undefended figure of their own: they are compared with the papers'
    head on the same vectors, in the group that has most of it."""
    own = {key for key, some in by_training.items() if "head" in some[0].training}
    papers = {key: some for key, some in by_training.items() if key not in own}
    found = {key: list(some) for key, some in papers.items()}
    for key in sorted(own):
        for record in by_training[key]:
            place = _labels(record)[:2]
            there = {k: n for k, some in papers.items() if (n := sum(_labels(r)[:2] == place for r in some))}
            found.setdefault(max(there, key=lambda k: (there[k], k), default=key), []).append(record)
    return found


def beside(
    suite: str, targets: Sequence[tuple[str, str, str]], utility: Sequence[UtilityRow]
) -> list[dict[str, UtilitySummary] | None]:
    """The utility that stands in each row of a table. Rows of one table come from one utility suite as far as it has
    them, so that all are compared with one measurement of the undefended: its own suite, else the one that knows most
    of its defenses."""
    same: dict[tuple[str, str, str], list[UtilityRow]] = {target: [] for target in targets}
    seeds: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for row in utility:
        if row.target in same:
            same[row.target].append(row)
            for name in row.suites:
                seeds[*row.place, name].append(len(row.seeds))

    def weight(row: UtilityRow, name: str) -> tuple[bool, int, int, str]:
        known = seeds[*row.place, name]
        return name == suite, len(known), sum(known), name

    best = (max(same[t], key=lambda row: max(weight(row, s) for s in row.suites), default=None) for t in targets)
    return [row.metrics if row else None for row in best]


def _rows(
    records: Sequence[UtilityRecord], printed: Sequence[PublishedNumber], stale: StaleRecords
) -> list[UtilityRow]:
    groups: dict[tuple[str, str, str], list[UtilityRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda r: r.seed):
        groups[_labels(record)].append(record)
    metrics: dict[tuple[str, str, str], dict[str, UtilitySummary]] = defaultdict(dict)
    for line in summarize([r for key in sorted(groups, key=natural_sort_key) for r in groups[key]]):
        numbers = (line.mean, line.deviation, line.undefended, line.majority)
        metrics[line.dataset, line.encoder, line.defense][line.metric] = UtilitySummary(*map(pooling.rounded, numbers))
    return [_row(groups[key], found, printed, stale) for key, found in metrics.items()]


def _row(
    group: Sequence[UtilityRecord],
    metrics: dict[str, UtilitySummary],
    printed: Sequence[PublishedNumber],
    stale: StaleRecords,
) -> UtilityRow:
    dataset, encoder, defense = _labels(group[0])
    ids = [r.id for r in group]
    return UtilityRow(
        dataset=dataset,
        encoder=encoder,
        defense=defense,
        epochs=group[0].training["epochs"],
        metrics=metrics,
        seeds=[r.seed for r in group],
        ids=ids,
        epsilon=pooling.epsilon(group),
        published=[p.printed for p in printed if p.fits(dataset, encoder, defense, "")],
        command=commands.repeat_command(group),
        stale=stale.components(ids),
    )


def _labels(record: UtilityRecord) -> tuple[str, str, str]:
    return record.dataset.label, record.model, record.defense.label


def _values(records: Sequence[UtilityRecord], metric: str) -> list[float]:
    return [math.nan if (value := r.metrics[metric]) is None else float(value) for r in records]
