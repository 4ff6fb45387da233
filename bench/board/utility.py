"""Utility over seeds: training runs of one defense on one data set as a mean beside the undefended one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.records.model import UtilityRecord


@dataclass(frozen=True)
class UtilitySummary:
    """One metric of one defense over seeds."""

    dataset: str
    encoder: str
    defense: str
    metric: str
    mean: float
    deviation: float | None
    """over seeds; None for a single one"""
    seeds: int
    failed: int
    """training runs that failed, and have no part in the mean"""
    majority: float
    """what a constant answer reaches"""
    undefended: float | None
    """the mean without a defense on the same data, if it was measured"""
    notes: dict[str, Any]


def summarize(records: Sequence[UtilityRecord]) -> list[UtilitySummary]:
    groups: dict[tuple[str, str, str], list[UtilityRecord]] = {}
    failed: dict[tuple[str, str, str], int] = {}
    for record in records:
        key = (record.dataset.label, record.encoder.label, record.defense.label)
        if record.status == "ok":
            groups.setdefault(key, []).append(record)
        else:
            failed[key] = failed.get(key, 0) + 1
    rows: list[UtilitySummary] = []
    for (dataset, encoder, defense), group in groups.items():
        undefended = groups.get((dataset, encoder, "none"), [])
        for metric in group[0].metrics:
            values = _values(group, metric)
            bare = _values(undefended, metric)
            rows.append(
                UtilitySummary(
                    dataset=dataset,
                    encoder=encoder,
                    defense=defense,
                    metric=metric,
                    mean=statistics.fmean(values),
                    deviation=statistics.stdev(values) if len(values) > 1 else None,
                    seeds=len(values),
                    failed=failed.get((dataset, encoder, defense), 0),
                    majority=statistics.fmean(record.majority[metric] for record in group),
                    undefended=statistics.fmean(bare) if bare else None,
                    notes=group[0].notes,
                )
            )
    return rows


def _values(group: Sequence[UtilityRecord], metric: str) -> list[float]:
    """NaN for a metric that is undefined, so that the mean is, too."""
    return [float("nan") if (value := record.metrics[metric]) is None else float(value) for record in group]
