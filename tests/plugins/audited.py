"""Defenses for tests of audits: one with half the noise that it promises, and some that make claims of odd kinds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Corpus, Floats, Key, Release, defense
from bench.defenses.dp_ie import Gaussian
from bench.defenses.none import NoDefense


@defense("half-noise")
@dataclass(frozen=True)
class HalfNoise(Gaussian):
    """A Gaussian with the bug that is to be found: half of the noise that its accounting assumes."""

    def draw(self, shape: tuple[int, int], scale: float, rng: np.random.Generator) -> Floats:
        return super().draw(shape, scale / 2, rng)


@defense("odd-claim")
@dataclass(frozen=True)
class OddClaim(NoDefense):
    """Claims what no audit can judge."""

    claim: str = "inf"

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        release, key = super().release(vectors, labels, public, rng, epochs)
        nominal = {"epsilon": math.inf, "delta": 0.0} if self.claim == "inf" else {"epsilon": 1.0}
        return Release(release.encodings, release.labels, {"nominal": nominal, "accounted": nominal}), key
