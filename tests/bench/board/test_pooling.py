"""Cells of a board: what several seeds of one experiment say together."""

from __future__ import annotations

import math

import pytest

from bench.board import pooling
from bench.board.model import CellCost, Epsilon
from bench.board.pooling import PooledMetric
from bench.board.staleness import StaleRecords
from bench.records.model import Metric
from tests.helpers.records import attack_record, bare_record, budget, failed_record, metric_of

NONE_STALE = StaleRecords([])
# Spares a record the search for the code behind it.
ANY = {"attack": "0" * 16}


def test_seeds_are_pooled_as_independent_draws() -> None:
    metric = Metric(value=0.5, low=0.4, high=0.7, random=0.1)
    found = pooling.pooled([metric] * 4)
    assert found is not None
    assert found[:4] == pytest.approx((0.5, 0.45, 0.6, 0.1))


def test_each_side_of_an_interval_is_pooled_by_itself() -> None:
    wide = Metric(value=0.2, low=0.2 - 0.03, high=0.2 + 0.08, random=0.1, random_low=0.0, random_high=0.3)
    narrow = Metric(value=0.6, low=0.6 - 0.04, high=0.6 + 0.06, random=0.3, random_low=0.3, random_high=0.3)
    # √(0.03² + 0.04²) / 2 below, √(0.08² + 0.06²) / 2 above; the random level likewise.
    assert pooling.pooled([wide, narrow]) == pytest.approx((0.4, 0.375, 0.45, 0.2, 0.15, 0.3))


def test_seeds_without_a_number_are_left_out_of_the_mean() -> None:
    nothing = [None, Metric(value=None), Metric(value=math.nan), Metric(value=math.inf)]
    assert pooling.pooled(nothing) is None
    assert pooling.pooled([]) is None
    found = pooling.pooled([*nothing, Metric(value=0.5, low=0.4, high=0.6)])
    assert found is not None
    assert found[:3] == pytest.approx((0.5, 0.4, 0.6))
    assert found[3:] == (None, None, None)


def test_a_bound_that_is_not_known_widens_nothing() -> None:
    found = pooling.pooled([Metric(value=0.5, low=None, high=math.nan), Metric(value=0.5, low=0.3, high=0.9)])
    assert found is not None
    assert found[:3] == pytest.approx((0.5, 0.4, 0.7))


@pytest.mark.parametrize(
    ("low", "random_high", "guess"), [(0.2, 0.3, True), (0.3, 0.3, True), (0.31, 0.3, False), (0.0, None, False)]
)
def test_an_interval_that_reaches_down_to_random_attackers_is_a_guess(
    low: float, random_high: float | None, guess: bool
) -> None:
    assert pooling.at_random(PooledMetric(0.5, low, 0.9, random_high=random_high)) is guess


def test_a_picture_recovered_pixel_by_pixel_is_no_guess() -> None:
    chance = {"random": 0.05, "random_low": 0.0, "random_high": 0.2}
    record = attack_record("a", "dlg", leak=[1.0] * 2 + [0.0] * 14, metric="success", random=chance, code=ANY)
    assert "random" in pooling.cell([record], NONE_STALE).marks
    error = Metric(value=0.1, low=0.0, high=0.2)
    near = record.replace(metrics={**record.metrics, "mse": error})
    assert "random" not in pooling.cell([near], NONE_STALE).marks


def test_the_headline_is_what_the_attack_was_scored_by_then_a_leak_then_any_metric() -> None:
    number, leak = metric_of(0.5), pooling.LEAKS[0]
    assert pooling.headline([attack_record(metric="success")]) == "success"
    assert pooling.headline([bare_record(metrics={"identity": number, leak: number})]) == leak
    assert pooling.headline([bare_record(metrics={"cosine": number, leak: {"value": None}})]) == "cosine"
    assert pooling.headline([bare_record(metrics={"nobody-knows": number})]) is None
    assert pooling.headline([]) is None


def test_metrics_of_a_cell_stand_in_the_order_of_tables_with_unknown_ones_last() -> None:
    names = ["zeta", "alpha", "cosine", "identity"]
    cell = pooling.cell([bare_record(metrics={name: metric_of(0.123456) for name in names})], NONE_STALE)
    assert list(cell.metrics) == ["identity", "cosine", "alpha", "zeta"]
    assert cell.metrics["zeta"] == (0.1235, 0.1135, 0.1335, None)


def test_the_budget_of_several_seeds_is_the_largest() -> None:
    some = [attack_record("a", seed=s, notes=budget(1.0, held)) for s, held in enumerate((3.0, 7.0, 5.0))]
    assert pooling.epsilon([*some, attack_record()]) == Epsilon(nominal=1.0, accounted=7.0)
    assert pooling.epsilon([attack_record()]) is None


def test_a_failed_seed_is_named_and_counts_in_no_mean_and_no_cost() -> None:
    def cost(seconds: float | None, memory: float | None) -> dict[str, float | None]:
        return {"attack_s": seconds, "peak_mib": memory}

    good = [
        attack_record(leak=[1.0, 0.0], seed=0, cost=cost(1.0, 300.0)),
        attack_record(leak=[1.0, 1.0], seed=1, cost=cost(2.0, 200.0)),
        attack_record(leak=[0.0, 0.0], seed=2, cost=cost(None, None)),
    ]
    lost = failed_record(seed=3, status="timeout", error="too slow", cost=cost(999.0, 999.0))
    cell = pooling.cell([*good, lost], NONE_STALE)
    assert (cell.metric, cell.value) == ("recall", 0.5)
    assert cell.cost == CellCost(attack_s=1.5, peak_mib=300.0)
    assert [(f.id, f.seed, f.status, f.error) for f in cell.failed] == [(lost.id, 3, "timeout", "too slow")]
    assert cell.seeds == [0, 1, 2, 3]
    assert cell.marks == ["failed"]


def test_one_stale_seed_marks_the_cell_and_says_what_changed() -> None:
    current, old = attack_record(seed=0), attack_record(seed=1)
    old = old.replace(code={**old.code, "attack": "0" * 16})
    cell = pooling.cell([current, old], StaleRecords([current, old]))
    assert (cell.marks, cell.stale) == (["stale"], ["attack"])
    assert pooling.cell([current], StaleRecords([current, old])).marks == []
