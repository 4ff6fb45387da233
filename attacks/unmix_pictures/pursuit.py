"""Encodings as sparse mixes of known pictures whose signs are unknown: greedy pursuit on the expected signed mix.

If the mix z is close to a guess ẑ, with an error of variance τ² on each pixel, its magnitude m leaves for its sign the
odds exp(2·m·ẑ/τ²), so that E[z] = m·tanh(m·ẑ/τ²): signs count as far as they can be known. What E[z] has and ẑ has not
names the next picture. An exact mix ends with a residual of zero, which tells the attacker that it is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Floats, Ints
from bench.attacks.unmix_pictures.differences import Shape, difference_magnitudes, sharpened, unit_rows

# Relative squared error of the magnitudes below which a mix is explained; float32 leaves about 1e-13.
SOLVED = 1e-6
# The error that magnitudes show, to the error that there is: where a sign is wrong they show less.
HIDDEN = 2.0
# What the first picture of a mix is taken to weigh.
FIRST = 0.45
# Rounds of signs and weights for each support, and for one that is to be compared with another.
FITS, FINAL_FITS = 2, 4
RIDGE = 1e-6
# Encodings decoded at a time: 256 × 8 pictures of 3072 values are 25 MiB.
BATCH = 256


@dataclass(frozen=True)
class Dictionary:
    """Pictures that mixes are made of, with what is computed from them once."""

    pictures: Floats
    sharp: Floats
    norm: Floats
    features: Floats
    """centred magnitudes of differences, as rows of length 1"""
    shape: Shape

    @classmethod
    def of(cls, pictures: Floats, shape: Shape) -> Dictionary:
        sharp = sharpened(pictures, shape)
        norm = np.sqrt(np.maximum(np.einsum("ij,ij->i", pictures, sharp), 1e-12)).astype(np.float32)
        features = difference_magnitudes(pictures, shape)
        features -= features.mean(axis=0)
        return cls(pictures, sharp, norm, unit_rows(features), shape)


@dataclass
class Mixes:
    """What was found for each encoding."""

    support: Ints
    """n × k, rows of the dictionary"""
    weights: Floats
    residual: Floats
    """relative squared error of the magnitudes"""

    @classmethod
    def joined(cls, parts: list[Mixes]) -> Mixes:
        fields = ("support", "weights", "residual")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))

    def dense(self, size: int) -> Floats:
        """n × size; a picture that fills two slots has the sum of both weights."""
        found: Floats = np.zeros((len(self.support), size), dtype=np.float32)
        for j in range(self.support.shape[1]):
            found[np.arange(len(found)), self.support[:, j]] += self.weights[:, j]
        return found

    def keep_better(self, other: Mixes, rows: Ints) -> None:
        """Take over what `other` found for these rows where it explains more."""
        better = other.residual < self.residual[rows]
        for name in ("support", "weights", "residual"):
            getattr(self, name)[rows[better]] = getattr(other, name)[better]


def expected_signs(magnitudes: Floats, guess: Floats) -> Floats:
    """The mean of each sign, given the magnitudes and a guess of the signed mix."""
    gap = np.square(magnitudes - np.abs(guess)).mean(axis=1, keepdims=True)
    signs: Floats = np.tanh(magnitudes * guess / (HIDDEN * gap + 1e-8))
    return signs


def first_pictures(magnitudes: Floats, dictionary: Dictionary, centre: Floats, top: int) -> Ints:
    """By magnitudes of differences, which need no signs: n × top, best first. `centre` is their mean over encodings."""
    features = difference_magnitudes(magnitudes, dictionary.shape) - centre
    score = features @ dictionary.features.T
    top = min(top, score.shape[1])
    best = np.argpartition(-score, top - 1, axis=1)[:, :top]
    order = np.argsort(-np.take_along_axis(score, best, axis=1), axis=1, kind="stable")
    found: Ints = np.take_along_axis(best, order, axis=1)
    return found


def decode(
    magnitudes: Floats,
    dictionary: Dictionary,
    k: int,
    centre: Floats,
    *,
    starts: int,
    cycles: int,
    signed: bool = False,
    solved: float = SOLVED,
) -> Mixes:
    """The best of several starts for each encoding; `signed` lets weights be negative, for pictures known up to a sign.

    `cycles` is how many times each slot of a mix is emptied and filled again. What has a residual of at most `solved`
    is left as it is.
    """
    k = min(k, len(dictionary.pictures))
    parts = []
    for at in range(0, len(magnitudes), BATCH):
        batch = magnitudes[at : at + BATCH]
        first = first_pictures(batch, dictionary, centre, starts)
        found = _greedy(batch, dictionary, first[:, 0], k, signed)
        _exchange(batch, dictionary, found, cycles, signed, solved)
        for start in range(1, first.shape[1]):
            rows = np.flatnonzero(found.residual > solved)
            if not len(rows):
                break
            other = _greedy(batch[rows], dictionary, first[rows, start], k, signed)
            _exchange(batch[rows], dictionary, other, cycles, signed, solved)
            found.keep_better(other, rows)
        parts.append(found)
    return Mixes.joined(parts)


def _greedy(magnitudes: Floats, dictionary: Dictionary, first: Ints, k: int, signed: bool) -> Mixes:
    support = first[:, None]
    weights: Floats = np.full((len(first), 1), FIRST, dtype=np.float32)
    for size in range(1, k + 1):
        weights, guess = _fit(magnitudes, dictionary, support, weights, FITS if size < k else FINAL_FITS, signed)
        if size < k:
            support = np.concatenate([support, _next(magnitudes, guess, dictionary, support, signed)], axis=1)
            weights = np.pad(weights, ((0, 0), (0, 1)))
    return Mixes(support, weights, _residual(magnitudes, guess))


def _exchange(
    magnitudes: Floats, dictionary: Dictionary, mixes: Mixes, cycles: int, signed: bool, solved: float
) -> None:
    """Empty one slot after the other, the lightest first, and fill it with what then fits best, if that explains more.
    Changes `mixes`."""
    k = mixes.support.shape[1]
    if k == 1:  # nothing would stay to tell signs by
        return
    for _ in range(cycles):
        before = mixes.residual.copy()
        order = np.argsort(np.abs(mixes.weights), axis=1)
        for slot in range(k):
            rows = np.flatnonzero(mixes.residual > solved)
            if not len(rows):
                return
            stays = np.ones((len(rows), k), dtype=bool)
            stays[np.arange(len(rows)), order[rows, slot]] = False
            support: Ints = mixes.support[rows][stays].reshape(-1, k - 1)
            weights: Floats = mixes.weights[rows][stays].reshape(-1, k - 1)
            some = magnitudes[rows]
            weights, guess = _fit(some, dictionary, support, weights, FITS, signed)
            support = np.concatenate([support, _next(some, guess, dictionary, support, signed)], axis=1)
            weights, guess = _fit(some, dictionary, support, np.pad(weights, ((0, 0), (0, 1))), FINAL_FITS, signed)
            mixes.keep_better(Mixes(support, weights, _residual(some, guess)), rows)
        if (mixes.residual > 0.999 * before).all():
            return


def _next(magnitudes: Floats, guess: Floats, dictionary: Dictionary, support: Ints, signed: bool) -> Ints:
    """The picture that most explains what the expected mix has and the guess has not."""
    missing = magnitudes * expected_signs(magnitudes, guess) - guess
    score = (missing @ dictionary.sharp.T) / dictionary.norm
    if signed:
        score = np.abs(score)
    np.put_along_axis(score, support, -np.inf, axis=1)
    found: Ints = score.argmax(axis=1)[:, None]
    return found


def _fit(
    magnitudes: Floats, dictionary: Dictionary, support: Ints, weights: Floats, rounds: int, signed: bool
) -> tuple[Floats, Floats]:
    """Weights of given pictures, and their mix: expected signs and least squares in turn."""
    pictures, sharp = dictionary.pictures[support], dictionary.sharp[support]
    gram = pictures @ sharp.transpose(0, 2, 1)
    size = gram.shape[1]
    ridge = RIDGE * np.trace(gram, axis1=1, axis2=2)[:, None, None] / size + 1e-12
    gram = gram + ridge * np.eye(size, dtype=np.float32)
    for _ in range(rounds):
        guess = _mixed(weights, pictures)
        expected = magnitudes * expected_signs(magnitudes, guess)
        solved: Any = np.linalg.solve(gram, sharp @ expected[:, :, None])[:, :, 0]
        weights = (solved if signed else np.maximum(solved, 0)).astype(np.float32)
    return weights, _mixed(weights, pictures)


def _mixed(weights: Floats, pictures: Floats) -> Floats:
    mixed: Floats = (weights[:, None, :] @ pictures)[:, 0]
    return mixed


def _residual(magnitudes: Floats, guess: Floats) -> Floats:
    power = np.square(magnitudes).mean(axis=1)
    gap: Floats = np.square(magnitudes - np.abs(guess)).mean(axis=1) / np.maximum(power, 1e-12)
    return gap
