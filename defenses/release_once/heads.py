"""Heads that know the noise of what was released: for points beside labels of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench import Floats
from bench.defenses.release_once.frame import Frame, Wide


def discriminant(frame: Frame, points: Wide, labels: Wide, confusion: Wide, sigma: float) -> Callable[[Floats], Floats]:
    """Linear discriminant analysis of points with known noise and labels with a known confusion matrix."""
    n = len(points)
    undo = np.linalg.inv(confusion)
    share = np.maximum(labels.mean(axis=0) @ undo, 1e-3)
    share /= share.sum()
    centre = points.mean(axis=0)
    # E[1{told c} z] = Σ over true classes of their share, mean and chance to be told as c.
    means = (undo.T @ (labels.T @ (points - centre) / n)) / share[:, None]
    total = np.cov(points, rowvar=False).reshape(len(centre), -1) - sigma**2 * np.eye(len(centre))
    # Told labels of one class differ from the mean by noise of this variance, coordinate by coordinate.
    spread = float(np.mean(np.diag(total))) + sigma**2
    noise = spread * (undo**2 @ labels.mean(axis=0)) / n / share**2
    within = blended(total - (means.T * share) @ means, frame.covariance, sigma**2 + spread, n)
    weights = np.stack([shrunk(within, mean, float(level)) for mean, level in zip(means, noise, strict=True)])
    # Shares of the classes are left out: against means that are shrunk because little is known of them, they would
    # decide alone, and every answer would be the largest class.
    offset = -0.5 * np.einsum("cr,rs,cs->c", weights, within, weights)

    def scores(vectors: Floats) -> Floats:
        found: Floats = ((frame.points(vectors) - centre) @ weights.T + offset).astype(np.float32)
        return found

    return scores


def regression(frame: Frame, points: Wide, scores: Wide, sigma: float) -> Callable[[Floats], Floats]:
    """Ridge regression on points with known noise; noise in the scores is independent, and averages out."""
    n, centre, level = len(points), points.mean(axis=0), float(scores.mean())
    along = (points - centre).T @ (scores - level) / n
    total = np.cov(points, rowvar=False).reshape(len(centre), -1) - sigma**2 * np.eye(len(centre))
    spread = float(np.mean(np.diag(total))) + sigma**2
    covariance = blended(total, frame.covariance, spread, n)
    weights = shrunk(covariance, along, spread * float(scores.var()) / n)

    def answer(vectors: Floats) -> Floats:
        found: Floats = ((frame.points(vectors) - centre) @ weights + level).astype(np.float32)[:, None]
        return found

    return answer


def blended(private: Wide, public: Wide, spread: float, n: int) -> Wide:
    """The covariance: what is left of the private one when the noise is taken off, as far as it can be trusted, and
    that of the public corpus for the rest."""
    error = spread**2 / n  # variance of an entry of the private estimate
    gap = float(np.mean((private - public) ** 2))
    trust = max(0.0, 1 - error / max(gap, 1e-300))  # of the gap, what noise does not explain
    found: Wide = trust * private + (1 - trust) * public
    values, axes = np.linalg.eigh((found + found.T) / 2)
    floor = 0.1 * float(np.linalg.eigvalsh(public).min())
    blended: Wide = (axes * np.maximum(values, floor)) @ axes.T
    return blended


def shrunk(covariance: Wide, mean: Wide, noise: float) -> Wide:
    """covariance⁻¹ · mean, for a mean that is known up to `noise` (variance of each coordinate): the posterior mean
    under mean ~ N(0, τ² · covariance), with the likeliest τ²."""
    values, axes = np.linalg.eigh(covariance)
    along = axes.T @ mean
    grid = np.geomspace(1e-4, 1e2, 200)
    variance = grid[:, None] * values + noise
    likelihood = -0.5 * (np.log(variance) + along**2 / variance).sum(axis=1)
    strength = grid[int(np.argmax(likelihood))]
    found: Wide = axes @ (along * strength / (strength * values + noise))
    return found
