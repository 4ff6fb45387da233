"""Cross-dataset: the public pictures that are mixed in are known, the private ones are not.

Public members are decoded first. What they leave is signed, so that its clusters are the private pictures; these join
the dictionary, and pictures and mixes are improved in turn, as in bench.attacks.unmix_pictures.blind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench import Floats
from bench.attacks.unmix_pictures import blind
from bench.attacks.unmix_pictures.blind import Found
from bench.attacks.unmix_pictures.differences import Shape, difference_magnitudes, sharpened, unit_rows
from bench.attacks.unmix_pictures.pursuit import BATCH, Dictionary, Mixes, decode, expected_signs

# Axes of the residuals that the first private pictures are looked for in.
AXES = 100


def recover(
    encodings: Floats,
    public: Floats,
    shape: Shape,
    k: int,
    private: int,
    rng: np.random.Generator,
    *,
    rounds: int,
    most: int,
    stage: Callable[[str], None] = lambda text: None,
) -> Found:
    """Of k pictures in each mix, the `private` that are not public. `most` encodings, drawn anew, serve each round."""
    magnitudes = np.abs(encodings)
    centre = difference_magnitudes(magnitudes, shape).mean(axis=0)
    pictures: Floats = public[:0]
    for at in range(rounds):
        stage(f"round {at + 1} of {rounds}: mixes of {len(public):,} public and {len(pictures)} private pictures")
        some = magnitudes[rng.permutation(len(magnitudes))[:most]]
        known = np.concatenate([pictures, public])
        slots = k if len(pictures) else k - private
        mixes = decode(some, Dictionary.of(known, shape), slots, centre, starts=1, cycles=0)
        target, guess = _expected(some, known, mixes)
        if not len(pictures):
            pictures = _first(target - guess, shape, rng)
            continue
        weights = mixes.dense(len(known))[:, : len(pictures)]
        pictures = _refitted(pictures, weights, target - guess + weights @ pictures, mixes.residual)
        uses = blind.uses_of(pictures, weights)
        uses = np.where(uses < blind.RARE * np.median(uses), 0, uses)
        if at < rounds - blind.CAREFUL:
            worst = np.argsort(-mixes.residual, kind="stable")[: max(1, round(blind.WORST * len(some)))]
            born = _clusters(target[worst] - guess[worst], blind.BIRTHS, blind.BIRTH_AXES, shape, rng)
            pictures, uses = np.concatenate([pictures, born]), np.concatenate([uses, np.full(len(born), blind.NEW)])
        pictures = blind.without_twins(pictures, uses, shape)
    stage("which private picture weighs most in each encoding")
    known = np.concatenate([pictures, public])
    mixes = decode(magnitudes, Dictionary.of(known, shape), k, centre, starts=1, cycles=0)
    return Found(*_scaled(pictures, mixes, private))


def _expected(magnitudes: Floats, pictures: Floats, mixes: Mixes) -> tuple[Floats, Floats]:
    """The signed encodings that are to be expected, and the mixes that were found."""
    guess = np.empty_like(magnitudes)
    for at in range(0, len(guess), BATCH):
        rows = slice(at, at + BATCH)
        guess[rows] = (mixes.weights[rows][:, None, :] @ pictures[mixes.support[rows]])[:, 0]
    return magnitudes * expected_signs(magnitudes, guess), guess


def _first(missing: Floats, shape: Shape, rng: np.random.Generator) -> Floats:
    count = max(2, len(missing) // blind.PER_CLUSTER)
    found = _clusters(missing, count, AXES, shape, rng)
    return blind.without_twins(found, np.ones(len(found)), shape)


def _clusters(missing: Floats, count: int, axes: int, shape: Shape, rng: np.random.Generator) -> Floats:
    """Means of clusters of residuals, which are signed by now, each of spread 1."""
    from sklearn.cluster import KMeans
    from sklearn.utils.extmath import randomized_svd

    axes = min(axes, *missing.shape)
    draw = [int(seed) for seed in rng.integers(1 << 31, size=2)]
    left, size, _ = randomized_svd(unit_rows(sharpened(missing, shape)), axes, n_iter=2, random_state=draw[0])
    count = min(count, len(missing))
    labels = KMeans(count, n_init=2, random_state=draw[1]).fit_predict(unit_rows(left * size))
    means = np.stack([missing[labels == c].mean(axis=0) for c in np.unique(labels)])
    found: Floats = (means / (np.sqrt(np.square(means).mean(axis=1, keepdims=True)) + 1e-12)).astype(np.float32)
    return found


def _refitted(pictures: Floats, weights: Floats, target: Floats, residual: Floats) -> Floats:
    """Least squares of what the public members leave, by how well each encoding is explained."""
    trust = (1 / (residual + np.median(residual) + 1e-6)).astype(np.float32)
    trusted = weights * trust[:, None]
    gram = trusted.T @ weights
    ridge = blind.RIDGE * float(np.diag(gram).mean()) + 1e-12
    solved: Floats = np.linalg.solve(gram + ridge * np.eye(len(gram)), trusted.T @ target).astype(np.float32)
    return solved


def _scaled(pictures: Floats, mixes: Mixes, private: int) -> tuple[Floats, Mixes]:
    """Public weights are known as they are, and all weights of an encoding sum to 1: that settles the scale of the
    private pictures. The mixes keep private members alone, the heaviest first."""
    mine = mixes.support < len(pictures)
    shared = np.where(mine, 0, mixes.weights).sum(axis=1)
    support = np.where(mine, mixes.support, 0)
    own = Mixes(support, np.where(mine, mixes.weights, np.float32(0)), mixes.residual)
    weights = own.dense(len(pictures))
    trust = np.sqrt(1 / (mixes.residual + np.median(mixes.residual) + 1e-6))
    scale, *_ = np.linalg.lstsq(weights * trust[:, None], (1 - shared) * trust, rcond=None)
    scale = np.clip(scale, 0.2, 5).astype(np.float32)
    heavy = own.weights * scale[support]
    order = np.argsort(-heavy, axis=1, kind="stable")[:, :private]
    chosen, weight = np.take_along_axis(support, order, axis=1), np.take_along_axis(heavy, order, axis=1)
    return pictures / scale[:, None], Mixes(chosen, weight, mixes.residual)
