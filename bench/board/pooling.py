"""One experiment's records, pooled over seeds: a cell of the board."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeGuard

from bench.board import commands, select, trust
from bench.board.model import BoardCell, CellCost, Epsilon, Failure, MarkName, MetricSummary
from bench.board.staleness import StaleRecords
from bench.records.model import AttackRecord, Metric, Record
from bench.scoring import per_example
from bench.scoring.metrics import METRICS

# Metrics that say which share of the private examples an attack found; defenses are ranked by these.
LEAKS = tuple(name for name, about in METRICS.items() if about.leak)
# The random attacker on images holds the private ones and hands them out at random. An attack that reconstructed one
# pixel by pixel is better than that, however seldom it does.
IMAGE_METRICS = {m.name for m in METRICS.of("images")} - {m.name for m in METRICS.of("ranking", "sentences", "texts")}


class PooledMetric(NamedTuple):
    value: float
    low: float
    high: float
    random: float | None = None
    random_low: float | None = None
    random_high: float | None = None


def cell(records: Sequence[AttackRecord], stale: StaleRecords) -> BoardCell:
    """What the board says of records that differ in the seed only."""
    first, good = records[0], [r for r in records if r.status == "ok"]
    metric = headline(good)
    main = pooled(r.metrics.get(metric) for r in good) if metric else None
    names = {m for r in good for m in r.metrics}
    order = [*(m for m in METRICS if m in names), *sorted(names - set(METRICS))]
    found = {m: pooled(r.metrics.get(m) for r in good) for m in order}
    failed = [Failure(id=r.id, seed=r.seed, status=r.status, error=r.error) for r in records if r.status != "ok"]
    ids = [r.id for r in records]
    changed = stale.components(ids)
    marks: list[tuple[MarkName, bool]] = [
        ("random", main is not None and not IMAGE_METRICS & names and at_random(main)),
        ("tiny", any(map(trust.is_tiny, records))),
        ("failed", bool(failed)),
        ("unreproduced", trust.origin(records) == "not reproduced"),
        ("sealed", first.sealed),
        ("stale", bool(changed)),
    ]
    values: Sequence[float | None] = main or [None] * len(PooledMetric._fields)
    return BoardCell(
        dataset=first.dataset.label,
        modality=first.dataset.modality,
        encoder=first.model,
        defense=first.defense.label,
        attack=first.attack.label,
        sees=list(first.attack.sees),
        protocol=select.protocol(first),
        metric=metric,
        **dict(zip(PooledMetric._fields, map(rounded, values), strict=True)),
        metrics={m: MetricSummary(*map(rounded, p[:4])) for m, p in found.items() if p},
        seeds=[r.seed for r in records],
        ids=ids,
        failed=failed,
        cost=_cost(good),
        epsilon=epsilon(records),
        marks=[mark for mark, there in marks if there],
        samples=[sample for r in good for sample in r.samples or []],
        command=commands.repeat_command(records),
        stale=changed,
        origin=trust.origin(good or records),
    )


def headline(records: Sequence[AttackRecord]) -> str | None:
    """The metric that records are ranked by, else the first that they have."""
    said = [name for r in records if (name := per_example.headline(r))]
    names = {m for r in records for m, v in r.metrics.items() if v and _is_number(v.value)}
    return next((m for m in (*said, *LEAKS, *METRICS) if m in names), None)


def pooled(metrics: Iterable[Metric | None]) -> PooledMetric | None:
    """Mean over seeds. Seeds draw their own examples, so half-widths add as independent errors do.

    That they draw from the same data is left out: a record does not say which text a value belongs to.
    """
    some = [m for m in metrics if m and _is_number(m.value)]
    if not some:
        return None
    values = _spread([(m.value, m.low, m.high) for m in some])
    chance = [(m.random, m.random_low, m.random_high) for m in some if _is_number(m.random)]
    return PooledMetric(*values, *(_spread(chance) if chance else ()))


def at_random(metric: PooledMetric) -> bool:
    """No better than guessing: the interval begins within, or below, what 95 % of random attackers reach."""
    return metric.random_high is not None and metric.low <= metric.random_high


def epsilon(records: Iterable[Record]) -> Epsilon | None:
    """As claimed, and as it holds for the most exposed example of any seed."""
    known = [(r.claimed, r.accounted) for r in records]
    budgets = [(claimed.epsilon, accounted.epsilon) for claimed, accounted in known if claimed and accounted]
    if not budgets:
        return None
    nominal, accounted = max(budgets, key=lambda budget: float(budget[1]))
    return Epsilon(nominal=rounded(nominal), accounted=rounded(accounted))


def rounded(value: float | None) -> Any:
    return None if value is None else round(float(value), 4)


def _cost(records: Sequence[AttackRecord]) -> CellCost:
    seconds = [float(s) for r in records if _is_number(s := r.cost.attack_s)]
    memory = [float(m) for r in records if _is_number(m := r.cost.peak_mib)]
    mean = rounded(sum(seconds) / len(seconds)) if seconds else None
    return CellCost(attack_s=mean, peak_mib=max(memory, default=None))


def _spread(metrics: Sequence[tuple[Any, Any, Any]]) -> tuple[float, float, float]:
    """Mean, and the interval around it, of (value, low, high)."""
    n = len(metrics)
    mean = sum(value for value, _, _ in metrics) / n
    below = sum((value - low) ** 2 for value, low, _ in metrics if _is_number(low)) ** 0.5 / n
    above = sum((high - value) ** 2 for value, _, high in metrics if _is_number(high)) ** 0.5 / n
    return mean, mean - below, mean + above


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)
