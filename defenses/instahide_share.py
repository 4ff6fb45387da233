"""InstaHide's figure 4: a share α of each picture gives way to one other picture under a mask, or to Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Corpus, Floats, Key, Release, defense
from bench.defenses.instahide import check_signs
from bench.toolkit.mixing import BLOCK, apply, draw_masks, draw_members, mix

PAPER = "Huang et al. 2020 (InstaHide), section 5.2, figure 4"


@dataclass(frozen=True)
class Share:
    """What both sides of the figure have in common."""

    alpha: float = 0.5
    """the share that gives way, between 0 and 1"""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ValueError("alpha must lie between 0 and 1")


@defense("instahide-pair", paper=PAPER)
@dataclass(frozen=True)
class InstaHidePair(Share):
    """(1 − α)·x + α·x′ under a sign mask of its own: InstaHide with k = 2 whose weights are fixed."""

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        check_signs(vectors)
        members = draw_members(len(vectors), 2, epochs, rng, batch="all", distinct=True)
        weights = np.tile(np.array([1 - self.alpha, self.alpha], dtype=np.float32), (len(members), 1))
        mask, pool = draw_masks(len(members), vectors.shape[1], "inf", rng)
        key = Key(members[:, 0], members, weights, mask, pool, one_time=True)
        return Release(apply(vectors, key), mix(labels, members, weights)), key


@defense("laplace-noise", paper=PAPER)
@dataclass(frozen=True)
class LaplaceNoise(Share):
    """(1 − α)·x + e without a mask; the Laplace noise e is as large as α·x′ is on average. Nothing is clipped and no ε
    is claimed."""

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        members = draw_members(len(vectors), 1, epochs, rng, batch="all", distinct=True)
        weights = np.full((len(members), 1), 1 - self.alpha, dtype=np.float32)
        key = Key(members[:, 0], members, weights, noise=self._noise(vectors, len(members), rng))
        return Release(apply(vectors, key), mix(labels, members, np.ones_like(weights))), key

    def _noise(self, vectors: Any, count: int, rng: np.random.Generator) -> Floats:
        """Its mean absolute value, which is the scale of a Laplace distribution, is α times that of the vectors."""
        plain = np.asarray(vectors.detach().cpu() if hasattr(vectors, "detach") else vectors)
        scale = self.alpha * float(np.abs(plain).mean()) if len(plain) else 0.0
        noise: Floats = np.empty((count, vectors.shape[1]), dtype=np.float32)
        for at in range(0, count, BLOCK):
            noise[at : at + BLOCK] = rng.laplace(scale=scale, size=noise[at : at + BLOCK].shape)
        return noise
