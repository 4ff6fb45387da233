"""Last step of xie-hong's reconstruction: one sign per coordinate.

Magnitudes fix the vectors up to a sign per coordinate, the same for all examples. Where candidates are granted, the
sentences nearest to the vectors vote on it; else reference vectors do, by their mean and by which coordinates go
together.
"""

from __future__ import annotations

import numpy as np

from bench import Floats
from bench.attacks.common.magnitudes import standardised
from bench.toolkit.search import nearest


def from_mean(vectors: Floats, mean: Floats) -> Floats:
    """The paper's choice: the mean of the reconstruction is to point where the reference's does."""
    signs: Floats = np.where(vectors.mean(axis=0) * mean < 0, -1, 1).astype(np.float32)
    return signs


def from_covariance(vectors: Floats, reference: Floats, start: Floats, sweeps: int = 30) -> Floats:
    """Signs under which the vectors are likeliest for a Gaussian with the reference's mean and covariance.

    The energy is quadratic in the signs, s·(Ω ∘ XᵀX)·s − 2·s·(XᵀΩμ…), and falls coordinate by coordinate.
    """
    mean = reference.mean(axis=0)
    scale = np.maximum(reference.std(axis=0), 1e-12)
    centred = (reference - mean) / scale
    covariance = (centred.T @ centred / len(centred)).astype(np.float64)
    # The public sentences are of another kind: what they say about weak directions is not to be trusted.
    omega = np.linalg.inv(covariance + 0.3 * np.eye(len(covariance)))
    x, mu = vectors / scale, mean / scale
    coupling = omega * (x.T @ x)
    np.fill_diagonal(coupling, 0)
    field = x.sum(axis=0) * (omega @ mu)
    signs = start.astype(np.float64)
    for _ in range(sweeps):
        before = signs.copy()
        for j in range(len(signs)):
            signs[j] = -1.0 if coupling[j] @ signs > field[j] else 1.0
        if (signs == before).all():
            break
    return signs.astype(np.float32)


def from_candidates(vectors: Floats, corpus: Floats, start: Floats, rounds: int = 8) -> Floats:
    """Signs that agree with the nearest candidates, found again under the new signs until they settle."""
    signs = start
    for _ in range(rounds):
        named = corpus[nearest(vectors * signs, corpus)[:, 0]]
        agreed: Floats = np.where((vectors * named).sum(axis=0) < 0, -1, 1).astype(np.float32)
        if (agreed == signs).all():
            break
        signs = agreed
    return signs


def by_magnitude(vectors: Floats, corpus: Floats) -> Floats:
    """Signs of the candidate whose magnitudes are closest, per vector: for k = 1, where no mix ties vectors together.

    Without centring and scaling all sentences look alike.
    """
    named = nearest(*standardised(vectors, corpus, mixed=False))[:, 0]
    return np.copysign(np.abs(vectors), corpus[named]).astype(np.float32)
