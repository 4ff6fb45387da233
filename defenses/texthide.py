"""TextHide: mix k vectors, then flip signs by a mask from a secret pool of m.

Intra-dataset by default. With a public corpus (`texthide-inter`, or `public=NAME`) only ⌈k/2⌉ of the k are private.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bench import Corpus, DataError, Key, Release, defense
from bench.toolkit.mixing import Weights, apply, draw_masks, draw_members, draw_weights, mix


@defense("texthide", paper="Huang et al. 2020 (TextHide), algorithm 1")
@dataclass(frozen=True)
class TextHide:
    """A weighted mean of k examples of the same batch under one of m secret sign masks."""

    m: int | Literal["inf"] = 256
    """masks in the client's pool: 0 for none, inf for a fresh one each time"""
    k: int = 4
    """examples in each mix"""
    weights: Weights = "half-normal"
    """|N(0, 1)| or U(0, 1), normalised to sum 1"""
    distinct: bool = False
    """never mix an example with itself"""
    batch: int | Literal["all"] = 32
    """size of the pool that is mixed within"""
    public: str = ""
    """data set that gives half of each mix; auto for the private one's own choice; empty for none"""
    labels: Literal["private", "official-code"] = "private"
    """with public sentences: mix the private labels alone, or fill up with random private ones as the code does"""

    def __post_init__(self) -> None:
        if self.m != "inf" and self.m < 0:
            raise ValueError("m must be 0 (no mask), a positive number of masks, or inf")
        if self.k < 1:
            raise ValueError("k must be at least 1")
        if self.batch != "all" and self.batch < 1:
            raise ValueError("batch must be at least 1, or all")

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        own = -(-self.k // 2) if self.public else self.k
        members = draw_members(len(vectors), own, epochs, rng, batch=self.batch, distinct=self.distinct)
        weights = draw_weights(len(members), self.k, self.weights, rng)
        mask, pool = draw_masks(len(members), vectors.shape[1], self.m, rng)
        shared = self._public_rows(len(members), public, rng) if self.public else None
        members = np.pad(members, ((0, 0), (0, self.k - own)), constant_values=-1)
        key = Key(members[:, 0], members, weights, mask, pool, one_time=self.m == "inf", public=shared)
        return Release(apply(vectors, key, public), self._mixed_labels(labels, key, rng)), key

    def _public_rows(self, count: int, public: Corpus | None, rng: np.random.Generator) -> Any:
        """For each item ⌊k/2⌋ public sentences, in the slots that hold no private one."""
        if public is None or not len(public.vectors):
            raise DataError(f"TextHide with public={self.public} needs a public corpus, and it is empty")
        own = -(-self.k // 2)
        rows = np.full((count, self.k), -1, dtype=np.int64)
        rows[:, own:] = rng.integers(0, len(public.vectors), (count, self.k - own))
        return rows

    def _mixed_labels(self, labels: Any, key: Key, rng: np.random.Generator) -> Any:
        private = key.members >= 0
        if self.labels == "official-code":
            strangers = rng.integers(0, len(labels), key.members.shape)
            return mix(labels, np.where(private, key.members, strangers), key.weights)
        share = np.where(private, key.weights, np.float32(0))
        return mix(labels, key.members, share / share.sum(axis=1, keepdims=True))


@defense("texthide-inter", paper="Huang et al. 2020 (TextHide), section 3.3")
@dataclass(frozen=True)
class TextHideInter(TextHide):
    """TextHide that mixes ⌈k/2⌉ private sentences with ⌊k/2⌋ of a public corpus."""

    public: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.public:
            raise ValueError("public must name a data set, or be auto; for none, use texthide")
