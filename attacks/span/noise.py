"""Sentences of a batch where noise was added to the update: nobody lies in a span, but the right ones explain most.

The top layer's gradient is G = Σ dᵢ·hᵢᵀ + noise, with one hᵢ for each sentence, known for every candidate. So the batch
is the set of candidates whose h explain G best: one after the other by orthogonal least squares, then each taken out
and chosen again until nothing changes. What a wrong candidate explains by chance is σ²·χ² with as many degrees of
freedom as G has rows, and σ is read off the small singular values: whoever explains no more than the best of all
candidates would by chance is not named.
"""

from __future__ import annotations

import math

import numpy as np

from bench import Floats, Ints
from bench.attacks.span.subspace import Values

# Singular values up to this share of all are noise: no batch has as many sentences as the rest has dimensions.
QUIET = 0.1
# Noise is there if it could hide a singular value that is so much smaller than the largest.
THERE = 1e-5
# Rounds in which every sentence is taken out and chosen again.
SWEEPS = 4
# A candidate of whose inputs so little is new is one that is named already.
SAME = 1e-6


def level(gradient: Values) -> float:
    """The standard deviation of noise on each entry, 0 where there is none: from the smaller singular values, and where
    those of a matrix of nothing but noise lie (Marchenko and Pastur)."""
    short, long = sorted(gradient.shape)
    values = np.linalg.svd(gradient, compute_uv=False)
    ratio = short / long
    grid = np.linspace((1 - math.sqrt(ratio)) ** 2, (1 + math.sqrt(ratio)) ** 2, 4097)[1:-1]
    density = np.sqrt((grid[-1] - grid) * (grid - grid[0])) / grid
    share = np.cumsum(density) / density.sum()
    usual = math.sqrt(long * float(np.interp(QUIET, share, grid)))
    found = float(values[int((1 - QUIET) * short)]) / usual
    return found if found * (math.sqrt(short) + math.sqrt(long)) > THERE * values[0] else 0.0


def explaining(gradient: Values, inputs: Floats, sigma: float, most: int) -> Ints:
    """Rows of the candidates, of whom `inputs` has one row each, that explain a gradient; at most so many."""
    size = np.linalg.norm(inputs, axis=1, keepdims=True)
    units = inputs / np.maximum(size, np.finfo(np.float32).tiny)
    products = gradient.astype(np.float32) @ units.T
    most_by_chance = sigma**2 * _largest(len(gradient), len(inputs))
    chosen: list[int] = []
    while len(chosen) < min(most, len(inputs)):
        gains = _gains(gradient, products, units, chosen)
        best = int(np.argmax(gains))
        if gains[best] <= most_by_chance:
            break
        chosen.append(best)
    for _ in range(SWEEPS):
        before = list(chosen)
        for at in range(len(chosen)):
            rest = chosen[:at] + chosen[at + 1 :]
            chosen[at] = int(np.argmax(_gains(gradient, products, units, rest)))
        if chosen == before:
            break
    return np.array(sorted(set(chosen)), dtype=np.int64)


def _gains(gradient: Values, products: Floats, units: Floats, chosen: list[int]) -> Values:
    """How much of the gradient's square each candidate explains beyond those that are chosen."""
    if not chosen:
        found: Values = np.einsum("ij,ij->j", products, products, dtype=np.float64)
        return found
    basis, _ = np.linalg.qr(units[chosen].T.astype(np.float64))
    inside = units @ basis.astype(np.float32)
    new = np.maximum(1 - np.einsum("ij,ij->i", inside, inside, dtype=np.float64), 0.0)
    left = products - (gradient @ basis).astype(np.float32) @ inside.T
    gains: Values = np.einsum("ij,ij->j", left, left, dtype=np.float64) / np.maximum(new, SAME)
    gains[new <= SAME] = 0.0
    return gains


def _largest(freedom: int, count: int) -> float:
    """What the largest of so many χ² variables does not exceed but once in twenty (Laurent and Massart's bound)."""
    far = math.log(20 * max(count, 1))
    return freedom + 2 * math.sqrt(freedom * far) + 2 * far
