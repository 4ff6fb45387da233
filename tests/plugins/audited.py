"""Defenses for tests of audits: one with half the noise that it promises, and some that make claims of odd kinds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Corpus, Floats, Key, Release, defense
from bench.defenses.dp_ie import Gaussian
from bench.defenses.none import NoDefense
from bench.defenses.on_updates import DpSgd


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


@defense("half-noise-updates")
@dataclass(frozen=True)
class HalfNoiseOfUpdates(DpSgd):
    """DP-SGD with half of the noise that its accounting assumes."""

    def altered(self, name: str, value: Floats, items: int, rng: np.random.Generator) -> Floats:
        return (value + super().altered(name, value, items, rng)) / 2


@defense("forgotten-tensor")
@dataclass(frozen=True)
class ForgottenTensor(DpSgd):
    """DP-SGD that forgets the noise of one tensor."""

    def altered(self, name: str, value: Floats, items: int, rng: np.random.Generator) -> Floats:
        return value if name == "head1.bias" else super().altered(name, value, items, rng)


@defense("odd-claim-of-updates")
@dataclass(frozen=True)
class OddClaimOfUpdates(DpSgd):
    """Claims of updates what no audit can judge."""

    claim: str = "inf"

    def notes(self, rounds: int | None = None) -> dict[str, Any]:
        said = {"epsilon": math.inf, "delta": 0.0} if self.claim == "inf" else {"epsilon": 1.0}
        return {"nominal": said, "accounted": said}
