"""All encodings together, without candidates: pictures and mixes in turn, until they explain each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench import Floats
from bench.attacks.unmix_pictures.clusters import Values, first_guesses
from bench.attacks.unmix_pictures.differences import Shape, difference_magnitudes, sharpened, unit_rows
from bench.attacks.unmix_pictures.pursuit import Dictionary, Mixes, decode, expected_signs

# Encodings to a cluster on average: more clusters than pictures, since twins are dropped later and gaps are not filled.
PER_CLUSTER = 25
MOST_CLUSTERS = 1000
# Rounds in which the sign of each picture as a whole is still open.
OPEN = 2
# Rounds at the end in which slots of a mix are exchanged, too.
CAREFUL = 2
# Cosine of differences above which two pictures are one.
TWINS = 0.7
# A picture is in an encoding if its part has this root mean square; in fewer than this share of what is the median of
# all pictures, it is none.
SEEN, RARE = 0.05, 0.3
# New pictures of each round, out of the residuals of this share of the encodings, by so many axes; where they are like
# an old one, that one stays.
BIRTHS, WORST, BIRTH_AXES, FEWEST, NEW = 12, 0.3, 30, 8, 0.5
RIDGE = 1e-2
# Encodings whose expected mixes are held at a time: 1024 × 3072 floats are 12 MiB.
BLOCK = 1024


@dataclass(frozen=True)
class Found:
    pictures: Floats
    """as they were hidden, in no order"""
    mixes: Mixes
    """of these pictures, for each encoding"""


def recover(
    encodings: Floats,
    shape: Shape,
    k: int,
    box: tuple[Floats, Floats],
    rng: np.random.Generator,
    *,
    rounds: int,
    clusters: int = 0,
    stage: Callable[[str], None] = lambda text: None,
) -> Found:
    """The pictures of mixes of k. `box`: the least and largest value of each pixel, which settles the last sign."""
    magnitudes = np.abs(encodings)
    centre = difference_magnitudes(magnitudes, shape).mean(axis=0)
    stage("clustering differences of neighbouring pixels")
    clusters = clusters or int(np.clip(len(encodings) // PER_CLUSTER, 2, MOST_CLUSTERS))
    pictures, tightness = first_guesses(magnitudes, shape, clusters, rng)
    if not len(pictures):  # too few encodings to tell anything from
        pictures, tightness = magnitudes[:1].copy(), np.zeros(1)
    pictures = without_twins(pictures, tightness, shape)
    solved = np.inf
    for at in range(rounds):
        stage(f"round {at + 1} of {rounds}: mixes of {len(pictures)} pictures")
        signed = at < OPEN
        dictionary = Dictionary.of(pictures, shape)
        careful = at >= rounds - CAREFUL
        mixes = decode(magnitudes, dictionary, k, centre, starts=1, cycles=int(careful), signed=signed, solved=solved)
        weights = mixes.dense(len(pictures))
        if signed:
            flip = _common_signs(weights)
            pictures, weights = pictures * flip[:, None], weights * flip
        solved = float(np.median(mixes.residual))
        pictures = refitted(magnitudes, pictures, weights, mixes.residual)
        uses = uses_of(pictures, weights)
        if not signed:
            uses = np.where(uses < RARE * np.median(uses), 0, uses)
            born = _residual_pictures(magnitudes, pictures, weights, mixes.residual, shape, rng)
            if careful:
                born = born[:0]
            pictures, uses = np.concatenate([pictures, born]), np.concatenate([uses, np.full(len(born), NEW)])
        pictures = without_twins(pictures, uses, shape)
    mixes = decode(magnitudes, Dictionary.of(pictures, shape), k, centre, starts=1, cycles=1, solved=solved)
    pictures, mixes = scaled(pictures, mixes)
    return Found(pictures * _last_sign(pictures, box), mixes)


def _common_signs(weights: Floats) -> Floats:
    """Flips after which weights that meet in one encoding have the same sign, as far as can be: an eigenvector."""
    together = weights.T @ weights
    np.fill_diagonal(together, 0)
    _, vectors = np.linalg.eigh(together)
    return np.where(vectors[:, -1] < 0, np.float32(-1), np.float32(1))


def refitted(magnitudes: Floats, pictures: Floats, weights: Floats, residual: Floats) -> Floats:
    """Least squares of the expected signed mixes.

    An encoding counts by how well it is explained: one that is explained exactly says exactly what is in it.
    """
    trust = (1 / (residual + np.median(residual) + 1e-6)).astype(np.float32)
    trusted = weights * trust[:, None]
    gram = trusted.T @ weights
    right = np.zeros_like(pictures)
    for at in range(0, len(magnitudes), BLOCK):
        rows = slice(at, at + BLOCK)
        some = magnitudes[rows]
        right += trusted[rows].T @ (some * expected_signs(some, weights[rows] @ pictures))
    ridge = RIDGE * float(np.diag(gram).mean()) + 1e-12
    solved: Floats = np.linalg.solve(gram + ridge * np.eye(len(gram)), right).astype(np.float32)
    return solved


def uses_of(pictures: Floats, weights: Floats) -> Values:
    """In how many encodings each picture has a part that can be seen."""
    part = np.abs(weights) * np.sqrt(np.square(pictures).mean(axis=1))
    uses: Values = (part > SEEN).sum(axis=0).astype(np.float64)
    return uses


def _residual_pictures(
    magnitudes: Floats, pictures: Floats, weights: Floats, residual: Floats, shape: Shape, rng: np.random.Generator
) -> Floats:
    """What the worst explained encodings have in common beyond the known pictures: their residuals are signed by now,
    so that means of clusters are pictures that are missing."""
    from sklearn.cluster import KMeans
    from sklearn.utils.extmath import randomized_svd

    rows = np.argsort(-residual, kind="stable")[: max(1, round(WORST * len(residual)))]
    if len(rows) < BIRTHS * FEWEST:
        return pictures[:0]
    some = magnitudes[rows]
    guess = weights[rows] @ pictures
    missing = some * expected_signs(some, guess) - guess
    left, size, _ = randomized_svd(
        unit_rows(sharpened(missing, shape)), BIRTH_AXES, n_iter=2, random_state=int(rng.integers(1 << 31))
    )
    labels = KMeans(BIRTHS, n_init=2, random_state=int(rng.integers(1 << 31))).fit_predict(unit_rows(left * size))
    means = np.stack([missing[labels == c].mean(axis=0) for c in range(BIRTHS)])
    means /= np.sqrt(np.square(means).mean(axis=1, keepdims=True)) + 1e-12
    found: Floats = means.astype(np.float32)
    return found


def without_twins(pictures: Floats, rank: Values, shape: Shape) -> Floats:
    """Of pictures that are alike, up to sign, the one of highest rank; none of rank zero or without any difference."""
    sharp = sharpened(pictures, shape)
    cosine = np.abs(pictures @ sharp.T)
    length = np.sqrt(np.diag(cosine))
    cosine /= np.maximum(np.outer(length, length), 1e-12)
    kept: list[int] = []
    for row in np.argsort(-rank, kind="stable"):
        if length[row] > 0 and rank[row] != 0 and not (cosine[row, kept] > TWINS).any():
            kept.append(int(row))
    return pictures[sorted(kept)] if kept else pictures[:1]


def scaled(pictures: Floats, mixes: Mixes) -> tuple[Floats, Mixes]:
    """Weights of an encoding sum to 1: that settles the scale of each picture."""
    weights = mixes.dense(len(pictures))
    trust = np.sqrt(1 / (mixes.residual + np.median(mixes.residual) + 1e-6))[:, None]
    scale, *_ = np.linalg.lstsq(weights * trust, np.broadcast_to(trust, (len(trust), 1)), rcond=None)
    scale = np.clip(scale[:, 0], 0.2, 5).astype(np.float32)
    return pictures / scale[:, None], Mixes(mixes.support, mixes.weights * scale[mixes.support], mixes.residual)


def _last_sign(pictures: Floats, box: tuple[Floats, Floats]) -> np.float32:
    """Pictures and their negatives explain magnitudes alike; those that leave the range of pixels less are right."""

    def outside(values: Floats) -> float:
        return float((np.maximum(box[0] - values, 0) + np.maximum(values - box[1], 0)).sum())

    return np.float32(1 if outside(pictures) <= outside(-pictures) else -1)
