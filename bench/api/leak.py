"""The headline number of each pair of defense and attack, pooled over seeds as the boards do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.board import pooling
from bench.records.model import AttackRecord


def leak_rows(records: Sequence[AttackRecord]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[AttackRecord]] = {}
    for record in records:
        names = (record.dataset.label, record.model, record.defense.label, record.attack.label)
        groups.setdefault((*names, record.protocol.model_dump_json()), []).append(record)
    return [_row(group) for group in groups.values()]


def _row(group: Sequence[AttackRecord]) -> dict[str, Any]:
    first, good = group[0], [record for record in group if record.status == "ok"]
    metric = pooling.headline(good)
    pooled = pooling.pooled([record.metrics.get(metric) for record in good]) if metric else None
    return {
        "dataset": first.dataset.label,
        "encoder": first.encoder.label,
        "training": first.finetuned.label if first.finetuned else "frozen",
        "defense": first.defense.label,
        "attack": first.attack.label,
        "metric": metric,
        "leak": pooled.value if pooled else None,
        "low": pooled.low if pooled else None,
        "high": pooled.high if pooled else None,
        "random": pooled.random if pooled else None,
        "seeds": len(group),
        "failed": len(group) - len(good),
    }
