"""Sensitivities worked out by hand, and the analytic Gaussian against its own equation (Balle and Wang 2018)."""

from __future__ import annotations

from math import exp
from statistics import NormalDist

import numpy as np
import pytest

from bench.toolkit.privacy import clip_factors, exposure, gaussian_epsilon, gaussian_sigma, l1_diameter


def delta_of(sensitivity: float, sigma: float, epsilon: float) -> float:
    """The exact δ of a Gaussian mechanism, from the distribution function of the normal alone."""
    below, ratio = NormalDist().cdf, sensitivity / sigma
    return below(ratio / 2 - epsilon / ratio) - exp(epsilon) * below(-ratio / 2 - epsilon / ratio)


@pytest.mark.parametrize(
    ("sensitivity", "sigma", "delta", "epsilon"),
    [(1.0, 1.0, 1e-5, 4.377178), (1.0, 2.0, 1e-6, 2.254085), (3.0, 3.0, 1e-5, 4.377178)],
)
def test_epsilon_of_a_gaussian_mechanism(sensitivity: float, sigma: float, delta: float, epsilon: float) -> None:
    found = gaussian_epsilon(sensitivity, sigma, delta)
    assert found == pytest.approx(epsilon, rel=1e-5)
    assert delta_of(sensitivity, sigma, found) == pytest.approx(delta, rel=1e-3)


def test_the_least_noise_for_an_epsilon() -> None:
    assert gaussian_sigma(1.0, 1.0, 1e-5) == pytest.approx(3.730632, rel=1e-5)
    assert gaussian_sigma(4.0, 1.0, 1e-5) == pytest.approx(4 * 3.730632, rel=1e-5)
    # The classical bound √(2 ln(1.25/δ)) Δ/ε would add more noise than is needed.
    assert gaussian_sigma(1.0, 1.0, 1e-5) < 0.8 * np.sqrt(2 * np.log(1.25e5))


def test_diameters_of_the_two_balls() -> None:
    assert l1_diameter(1.5, 100, "l1") == 3.0
    assert l1_diameter(1.5, 100, "l2") == 30.0
    # Opposite corners of the cube inside the ℓ2 ball are that far apart.
    corner = np.full(100, 1.5 / 10)
    assert np.linalg.norm(corner) == pytest.approx(1.5)
    assert np.abs(corner - -corner).sum() == pytest.approx(l1_diameter(1.5, 100, "l2"))


def test_short_vectors_are_left_alone_and_long_ones_are_clipped() -> None:
    vectors = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [1.0, 0.0]], dtype=np.float32)
    assert clip_factors(vectors, 1.0, "l2") == pytest.approx([0.2, 1, 1, 1], rel=1e-6)
    assert clip_factors(vectors, 1.0, "l1") == pytest.approx([1 / 7, 1, 1, 1], rel=1e-6)
    assert clip_factors(vectors, 1.0, "l2")[1:].tolist() == [1, 1, 1]  # not one rounding step less


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rounding_never_lifts_a_factor_above_the_bound(norm: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((2000, 5)).astype(np.float32) * 10
    norms = np.linalg.norm(vectors.astype(np.float64), ord=1 if norm == "l1" else 2, axis=1)
    factors = clip_factors(vectors, 1.0, norm)  # type: ignore[arg-type]
    assert factors.dtype == np.float32
    assert (norms * factors <= 1.0).all()
    assert (norms * factors)[norms > 1] == pytest.approx(1, rel=1e-6)


def test_exposure_is_the_largest_over_examples_and_adds_over_items() -> None:
    members = np.array([[0, 1], [0, 2], [2, 1]])
    weights = np.array([[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]], dtype=np.float32)
    total, root = exposure(members, weights, 3)
    assert total == pytest.approx(1.25)
    assert root == pytest.approx(np.sqrt(0.75**2 + 0.5**2))


def test_the_largest_sum_and_the_largest_square_may_be_of_different_examples() -> None:
    # Example 0 enters once with all the weight, example 1 three times with half of it.
    members = np.array([[0, -1], [1, -1], [1, -1], [1, -1]])
    weights = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], dtype=np.float32)
    assert exposure(members, weights, 2) == pytest.approx((1.5, 1.0))


def test_public_slots_expose_nobody() -> None:
    members, weights = np.array([[0, -1]]), np.array([[0.25, 0.75]], dtype=np.float32)
    assert exposure(members, weights, 4) == pytest.approx((0.25, 0.25))
