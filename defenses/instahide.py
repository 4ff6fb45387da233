"""InstaHide: mix k pictures, then flip every pixel's sign with a mask that is used once.

Works on vectors of any kind; pictures come with channels normalised (encoder `pixels`), without which the mask hides
nothing. Cross-dataset (`instahide-cross`): two private pictures and k − 2 public ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bench import Corpus, DataError, Floats, Ints, Key, Release, UsageError, defense
from bench.toolkit.mixing import Weights, apply, draw_masks, draw_members, draw_weights, mix

# Private pictures in a mix with public ones (the authors' code with --pair).
PAIR = 2
MOST = 8
# Rounds of drawing again what broke a bound. A bound that one row in a hundred meets is met by all rows long before.
ROUNDS = 5000


@dataclass(frozen=True)
class Mixture:
    """What both variants share."""

    k: int = 4
    """pictures in each mix, 1 to 8; 1: the mask alone"""
    weights: Weights = "half-normal"
    """|N(0, 1)| as in the authors' code, or U(0, 1) as in the paper; normalised to sum 1"""
    c1: float = 0.65
    """no weight above it; weights are drawn again until that holds"""
    distinct: bool = False
    """never mix a picture with itself"""
    batch: int | Literal["all"] = "all"
    """size of the pool that is mixed within"""

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MOST:
            raise ValueError(f"k must lie between 1 and {MOST}")
        if not (1 / self.k < self.c1 <= 1 or self.k == 1):
            raise ValueError(f"c1 must lie above 1/k = {1 / self.k:.3g}, or no weights are allowed, and at most 1")
        if self.batch != "all" and self.batch < 1:
            raise ValueError("batch must be at least 1, or all")


@defense("instahide", paper="Huang et al. 2020 (InstaHide), algorithm 2, inside-dataset")
@dataclass(frozen=True)
class InstaHide(Mixture):
    """A weighted mean of k private pictures under a sign mask of its own."""

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        check_signs(vectors)
        members = draw_members(len(vectors), self.k, epochs, rng, batch=self.batch, distinct=self.distinct)
        weights = bounded_weights(len(members), self.k, self.weights, rng, c1=self.c1)
        mask, pool = draw_masks(len(members), vectors.shape[1], "inf", rng)
        key = Key(members[:, 0], members, weights, mask, pool, one_time=True)
        return Release(apply(vectors, key), mix(labels, members, weights)), key


@defense("instahide-cross", paper="Huang et al. 2020 (InstaHide), algorithm 2, cross-dataset")
@dataclass(frozen=True)
class InstaHideCross(Mixture):
    """Two private pictures and k − 2 public ones under a sign mask of its own."""

    k: int = 6
    """pictures in each mix, public ones included, 3 to 8"""
    c2: float = 0.3
    """the two private weights sum to at least this"""
    public: str = "auto"
    """data set of public pictures; auto for the private one's own choice"""
    labels: Literal["unnormalised", "normalised"] = "unnormalised"
    """the two private labels by their weights, as in the authors' code, or by shares that sum to 1"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k <= PAIR:
            raise ValueError(f"k must be above {PAIR}: two pictures are private; for no public ones, use instahide")
        if not 0 <= self.c2 < 1:
            raise ValueError("c2 must lie between 0 and 1")
        if self.c2 >= PAIR * self.c1:
            raise ValueError(f"two weights of at most c1 = {self.c1:.3g} cannot sum to c2 = {self.c2:.3g}")
        if not self.public:
            raise ValueError("public must name a data set, or be auto; for none, use instahide")

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        check_signs(vectors)
        members = draw_members(len(vectors), PAIR, epochs, rng, batch=self.batch, distinct=self.distinct)
        weights = bounded_weights(len(members), self.k, self.weights, rng, c1=self.c1, c2=self.c2)
        mask, pool = draw_masks(len(members), vectors.shape[1], "inf", rng)
        shared = self._public_rows(len(members), public, rng)
        share = weights[:, :PAIR]
        if self.labels == "normalised":
            share = share / share.sum(axis=1, keepdims=True)
        mixed = mix(labels, members, share)
        members = np.pad(members, ((0, 0), (0, self.k - PAIR)), constant_values=-1)
        key = Key(members[:, 0], members, weights, mask, pool, one_time=True, public=shared)
        return Release(apply(vectors, key, public), mixed), key

    def _public_rows(self, count: int, public: Corpus | None, rng: np.random.Generator) -> Ints:
        """For each item k − 2 different public pictures, drawn independently of all other items."""
        wanted, held = self.k - PAIR, 0 if public is None else len(public.vectors)
        if held < wanted:
            raise DataError(
                f"k={self.k} mixes {wanted} public pictures, and there are {held}: lower k, or choose more (--public)"
            )
        rows = np.full((count, self.k), -1, dtype=np.int64)
        for j in range(PAIR, self.k):
            drawn = rng.integers(0, held, count)
            while (again := (rows[:, PAIR:j] == drawn[:, None]).any(axis=1)).any():
                drawn[again] = rng.integers(0, held, again.sum())
            rows[:, j] = drawn
        return rows


def bounded_weights(
    count: int, k: int, how: Weights, rng: np.random.Generator, *, c1: float, c2: float = 0.0
) -> Floats:
    """Weights of which none is above c1, the first two summing to c2 at least: drawn again until that holds."""
    weights = draw_weights(count, k, how, rng)
    if k == 1:
        return weights
    for _ in range(ROUNDS):
        wrong = (weights.max(axis=1) > c1) | (weights[:, :PAIR].sum(axis=1) < c2)
        if not wrong.any():
            return weights
        weights[wrong] = draw_weights(int(wrong.sum()), k, how, rng)
    raise UsageError(f"weights with c1={c1:.3g} and c2={c2:.3g} are too rare to be drawn: raise c1, or lower c2")


def check_signs(vectors: Any) -> None:
    """Where all values have one sign, abs() takes any mask off."""
    if len(vectors) and not bool((vectors < 0).any()):
        raise DataError("no value is below zero, so abs() would undo the mask: normalise first (--encoder pixels does)")
