"""TextHide without its mask: each vector is mixed with k - 1 others of its batch (m = 0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bench import Corpus, Key, Release, defense
from bench.toolkit.mixing import Weights, apply, draw_members, draw_weights, mix


@defense("mix-only", paper="Huang et al. 2020 (TextHide), table 3, mix-only (m = 0, k = 4)")
@dataclass(frozen=True)
class MixOnly:
    """A weighted mean of k examples of the same batch; no mask."""

    k: int = 4
    """examples in each mix"""
    weights: Weights = "half-normal"
    """|N(0, 1)| or U(0, 1), normalised to sum 1"""
    distinct: bool = False
    """never mix an example with itself"""
    batch: int | Literal["all"] = 32
    """size of the pool that is mixed within"""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("k must be at least 1")
        if self.batch != "all" and self.batch < 1:
            raise ValueError("batch must be at least 1, or all")

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        members = draw_members(len(vectors), self.k, epochs, rng, batch=self.batch, distinct=self.distinct)
        key = Key(members[:, 0], members, draw_weights(len(members), self.k, self.weights, rng))
        return Release(apply(vectors, key), mix(labels, members, key.weights)), key
