"""Differential privacy that a release really gives: sensitivity, composition, calibration.

Neighbours differ in one example, whose vector is clipped to norm C; labels and mixing weights are taken as public. An
example enters item i with total weight w_i, so replacing it moves that item's mean by at most 2 C w_i in the clipping
norm. Noise is independent between items, so over all items:

- Gaussian: one Gaussian mechanism of ℓ2 sensitivity 2 C √(Σ w_i²), judged by the exact (analytic) bound.
- Laplace: pure ε = (ℓ1 sensitivity) / b, and ℓ1 sensitivities add: 2 C Σ w_i, times √d where clipping was in ℓ2.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints

Norm = Literal["l1", "l2"]


def exposure(members: Ints, weights: Floats, examples: int) -> tuple[float, float]:
    """The largest Σ w_i and the largest √(Σ w_i²) of any example, over all items that it enters."""
    items, k = members.shape
    total = np.zeros(examples)
    square = np.zeros(examples)
    item = np.repeat(np.arange(items), k)
    member, weight = members.ravel(), weights.ravel().astype(np.float64)
    item, member, weight = item[member >= 0], member[member >= 0], weight[member >= 0]
    # An example may fill several slots of one item: its weights there add up before they are squared.
    pairs, where = np.unique(item * examples + member, return_inverse=True)
    summed = np.bincount(where, weight)
    np.add.at(total, pairs % examples, summed)
    np.add.at(square, pairs % examples, summed**2)
    return float(total.max()), float(np.sqrt(square.max()))


def clip_factors(vectors: npt.ArrayLike, bound: float, norm: Norm) -> Floats:
    """What each vector is multiplied by so that its norm is at most `bound`."""
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float64), ord=1 if norm == "l1" else 2, axis=1)
    # Rounding to float32 must not push a vector over the bound: one step towards zero.
    factors = np.nextafter(np.minimum(1.0, bound / np.maximum(norms, 1e-300)).astype(np.float32), np.float32(0))
    return np.where(norms <= bound, np.float32(1), factors)


def l1_diameter(bound: float, dim: int, norm: Norm) -> float:
    """How far apart two clipped vectors can be in ℓ1: the ℓ2 ball of radius C holds points 2 C √d apart."""
    return 2 * bound * (math.sqrt(dim) if norm == "l2" else 1.0)


def gaussian_epsilon(sensitivity: float, sigma: float, delta: float) -> float:
    """The exact ε of a Gaussian mechanism."""
    from dp_accounting.gaussian_mechanism import get_epsilon_gaussian

    return float(get_epsilon_gaussian(sigma / sensitivity, delta))


def gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """The least σ that gives (ε, δ)."""
    from dp_accounting.gaussian_mechanism import get_sigma_gaussian

    return float(sensitivity * get_sigma_gaussian(epsilon, delta))
