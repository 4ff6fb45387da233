"""Bounds on ε: against jax-privacy's numbers, and against mechanisms whose ε is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.auditing import bounds


@pytest.mark.parametrize(
    ("canaries", "guesses", "correct", "delta", "theirs"),
    [  # by _epsilon_one_run of jax-privacy 2.0.0
        (1000, 1000, 1000, 1e-5, 5.782283131572193),
        (1000, 100, 95, 1e-5, 2.165175787875041),
        (256, 256, 200, 0.0, 1.0173535807163074),
        (1000, 500, 300, 1e-3, 0.17704153138909176),
    ],
)
def test_the_one_run_bound_is_that_of_jax_privacy(
    canaries: int, guesses: int, correct: int, delta: float, theirs: float
) -> None:
    assert bounds.one_run(canaries, guesses, correct, delta) == pytest.approx(theirs, abs=1e-5)


def test_guesses_at_random_show_nothing() -> None:
    assert bounds.one_run(1000, 1000, 500, 1e-5) == 0.0
    assert bounds.from_rates(100, 1000, 100, 1000, 0.0) == 0.0


def test_rates_give_the_ratio_of_their_clopper_pearson_ends() -> None:
    # Ends by _clopper_pearson_upper of jax-privacy 2.0.0, at 97.5 % each.
    assert bounds.from_rates(5000, 20_000, 100, 20_000, 0.0) == pytest.approx(math.log(0.24401054 / 0.00607805), 1e-5)
    assert bounds.from_rates(5000, 20_000, 100, 20_000, 0.1) < bounds.from_rates(5000, 20_000, 100, 20_000, 0.0)
    assert bounds.from_rates(5, 20_000, 0, 20_000, 1e-2) == 0.0


def test_a_bound_holds_for_randomised_response() -> None:
    """Randomised response of ε = 1 has the rates e/(1 + e) and 1/(1 + e): 95 of 100 bounds may not pass 1."""
    rng = np.random.default_rng(3)
    right = math.e / (1 + math.e)
    found = [
        bounds.from_rates(int(rng.binomial(2000, right)), 2000, int(rng.binomial(2000, 1 - right)), 2000, 0.0)
        for _ in range(300)
    ]
    assert np.mean(np.array(found) > 1) <= 0.05
    assert np.mean(found) > 0.8


@pytest.mark.parametrize(
    ("claimed", "audited", "ceiling", "verdict"),
    [
        (1.0, 1.5, 8.0, "refuted"),
        (2.0, 1.5, 8.0, "consistent"),
        (9.0, 1.5, 8.0, "vacuous"),
        (None, 8.0, 8.0, "vacuous"),
    ],
)
def test_verdicts(claimed: float | None, audited: float, ceiling: float, verdict: str) -> None:
    assert bounds.verdict(claimed, audited, ceiling) == verdict
