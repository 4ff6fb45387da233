"""First pictures out of nothing but magnitudes: clusters of encodings that one picture dominates.

Inside a cluster the magnitude of each pixel is about that of the picture. Its sign shows in how magnitudes vary from
encoding to encoding: what else is mixed in is smooth, so that it moves neighbouring pixels the same way, and their
magnitudes the same way if their signs agree, opposite ways if not. The signs are the leading eigenvector of that
covariance under a kernel of distance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench import Floats, Ints
from bench.attacks.unmix_pictures.differences import Shape, difference_magnitudes, unit_rows

# Axes of the difference magnitudes that clusters are looked for in.
AXES = 150
# Encodings of a cluster that a picture is made from, the nearest to its centre; clusters of fewer are none.
PUREST, FEWEST = 25, 8
# How far what else is mixed in reaches, in pixels, and how alike its channels are.
REACH, CHANNELS = 6.0, 0.9
POWER_STEPS = 20

Values = npt.NDArray[np.float64]
# Of the mean squared magnitudes, the share of pixels taken to be zero in the picture: what they have is the rest's.
DARKEST = 0.05


def first_guesses(magnitudes: Floats, shape: Shape, clusters: int, rng: np.random.Generator) -> tuple[Floats, Values]:
    """Pictures, each up to its sign and scale, and how tight the cluster of each was: the higher, the tighter."""
    features = difference_magnitudes(magnitudes, shape)
    features -= features.mean(axis=0)
    features /= features.std(axis=0) + 1e-6
    reduced = _reduced(unit_rows(features), rng)
    del features
    members, distance = _clusters(reduced, clusters, rng)
    kernel = distance_kernel(shape)
    found, tightness = [], []
    for rows in members:
        rows = rows[np.argsort(distance[rows], kind="stable")][:PUREST]
        if len(rows) < FEWEST:
            continue
        some = magnitudes[rows]
        power = np.square(some).mean(axis=0)
        size = np.sqrt(np.maximum(power - np.quantile(power, DARKEST), 0))
        found.append(signs(some, shape, kernel, rng) * size)
        tightness.append(-distance[rows].mean())
    if not found:
        return np.empty((0, magnitudes.shape[1]), dtype=np.float32), np.empty(0)
    return np.array(found, dtype=np.float32), np.array(tightness)


def signs(magnitudes: Floats, shape: Shape, kernel: Floats, rng: np.random.Generator) -> Floats:
    """Of the picture that all these encodings hold, up to one sign for all pixels."""
    varying = magnitudes - magnitudes.mean(axis=0)
    varying /= varying.std(axis=0) + 1e-6
    varying /= np.sqrt(varying.size)
    count, (channels, *_) = len(varying), shape
    diagonal = np.square(varying).sum(axis=0)  # says nothing of two pixels
    vector = rng.standard_normal(varying.shape[1]).astype(np.float32)
    for _ in range(POWER_STEPS):
        spread = ((varying * vector).reshape(count * channels, -1) @ kernel).reshape(count, channels, -1)
        spread = (1 - CHANNELS) * spread + CHANNELS * spread.sum(axis=1, keepdims=True)
        vector = (varying * spread.reshape(count, -1)).sum(axis=0) - diagonal * vector
        vector /= np.linalg.norm(vector) + 1e-30
    return np.where(vector < 0, np.float32(-1), np.float32(1))


def distance_kernel(shape: Shape) -> Floats:
    """exp(−distance / REACH) of every two places of a picture."""
    row, column = np.mgrid[0 : shape[1], 0 : shape[2]].reshape(2, -1)
    distance = np.hypot(row[:, None] - row, column[:, None] - column)
    kernel: Floats = np.exp(-distance / REACH).astype(np.float32)
    return kernel


def _reduced(features: Floats, rng: np.random.Generator) -> Floats:
    from sklearn.utils.extmath import randomized_svd

    axes = min(AXES, *features.shape)
    left, size, _ = randomized_svd(features, axes, n_iter=2, random_state=int(rng.integers(1 << 31)))
    reduced: Floats = left * size
    return reduced


def _clusters(reduced: Floats, clusters: int, rng: np.random.Generator) -> tuple[list[Ints], Floats]:
    """The encodings of each cluster, and the squared distance of each encoding to the centre of its own."""
    from sklearn.cluster import KMeans

    count = min(clusters, len(np.unique(reduced, axis=0)))
    means = KMeans(count, n_init=2, random_state=int(rng.integers(1 << 31))).fit(reduced)
    distance: Floats = np.square(reduced - means.cluster_centers_[means.labels_]).sum(axis=1)
    return [np.flatnonzero(means.labels_ == c) for c in range(count)], distance
