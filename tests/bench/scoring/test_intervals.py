from __future__ import annotations

import numpy as np
import pytest

from bench.scoring.intervals import mean_interval


def test_an_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        sample = rng.random(80)
        _, low, high = mean_interval(sample, np.arange(80), rng)
        covered += low <= 0.5 <= high
    assert 0.88 <= covered / 200 <= 0.99


def test_items_of_one_example_count_as_one() -> None:
    rng = np.random.default_rng(1)
    values = np.repeat(rng.random(30), 50)
    _, low, high = mean_interval(values, np.repeat(np.arange(30), 50), rng)
    _, narrow_low, narrow_high = mean_interval(values, np.arange(1500), rng)
    assert (high - low) > 4 * (narrow_high - narrow_low)


def test_none_of_a_thousand_is_not_never() -> None:
    mean, low, high = mean_interval(np.zeros(1000), np.arange(1000), np.random.default_rng(0))
    assert (mean, low) == (0, 0)
    assert high == pytest.approx(0.00368, abs=1e-4)
    assert mean_interval(np.ones(10), np.arange(10), np.random.default_rng(0))[1] < 0.75


def test_values_that_are_missing_do_not_count() -> None:
    mean, _, _ = mean_interval(np.array([1.0, np.nan, 0.0]), np.arange(3), np.random.default_rng(0))
    assert mean == 0.5
    assert np.isnan(mean_interval(np.array([np.nan]), np.arange(1), np.random.default_rng(0))[0])
