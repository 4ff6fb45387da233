"""TextHide, intra-dataset: mix k vectors of a batch, then flip signs by a mask from a secret pool of m."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bench import Corpus, Key, Release, defense
from bench.mixing import Weights, apply, draw_masks, draw_members, draw_weights, mix


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
        members = draw_members(len(vectors), self.k, epochs, rng, batch=self.batch, distinct=self.distinct)
        weights = draw_weights(len(members), self.k, self.weights, rng)
        mask, pool = draw_masks(len(members), vectors.shape[1], self.m, rng)
        key = Key(members[:, 0], members, weights, mask, pool, one_time=self.m == "inf")
        return Release(apply(vectors, key), mix(labels, members, weights)), key
