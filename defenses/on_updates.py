"""Defenses of what a client sends in a round of training, alone or behind a defense of the representation.

`texthide+dp-sgd:noise=1` is written for `dp-sgd:noise=1,of=texthide`: encodings are TextHide's, and the update that
they lead to is DP-SGD's. An option of the inner one follows a slash: `of=texthide/m=inf/k=8`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bench import Corpus, Floats, Key, Release, defense
from bench.plugins.registry import Registry
from bench.toolkit.privacy import gaussian_epsilon


@dataclass(frozen=True)
class OnUpdates:
    """A defense of updates; encodings are left to the one that it stands behind."""

    of: str = "none"
    """defense of the representation, such as texthide or texthide/m=inf"""

    def __post_init__(self) -> None:
        if isinstance(self.inner, DpSgd | Prune):
            raise ValueError(f"of={self.of} is a defense of updates itself: name one of encodings, such as texthide")

    @cached_property
    def inner(self) -> Any:
        name, _, options = self.of.partition("/")
        return Registry().make("defense", f"{name}:{options.replace('/', ',')}" if options else name)

    @property
    def public(self) -> str:
        found: str = getattr(self.inner, "public", "")
        return found

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        released: tuple[Release, Key] = self.inner.release(vectors, labels, public, rng, epochs=epochs)
        return released

    def check_training(self) -> None:
        getattr(self.inner, "check_training", lambda: None)()

    # What bench.training.updates and bench.training.guarded ask a defense of updates for.
    @property
    def sharing(self) -> str:
        """what learns and is sent at most, as in --update share"""
        found: str = getattr(self.inner, "sharing", "all")
        return found

    clip = 0.0
    """bound of the norm of each item's gradient; 0: none"""

    def altered(self, name: str, value: Floats, items: int, rng: np.random.Generator) -> Floats:
        """One tensor of the update, which is a mean over so many items."""
        return value

    def notes(self, rounds: int | None = None) -> dict[str, Any]:
        """Facts for the record, over so many rounds that an example takes part in."""
        return {}


@defense("dp-sgd", paper="Abadi et al. 2016")
@dataclass(frozen=True)
class DpSgd(OnUpdates):
    """Each item's gradient is clipped, and Gaussian noise is added to their sum."""

    noise: float = 1.0
    """standard deviation of the noise in units of the clipping bound"""
    clip: float = 1.0
    """bound of the norm of an item's gradient"""
    rounds: int = 1
    """rounds that an example takes part in, over which ε is accounted"""
    delta: float = 1e-5
    """the probability with which ε may not hold"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise < 0 or self.clip <= 0 or self.rounds < 1 or not 0 < self.delta < 1:
            raise ValueError("noise must be at least 0, clip above 0, rounds at least 1, delta between 0 and 1")

    @property
    def entered(self) -> int:
        """items of a round that an example enters"""
        inner = getattr(self.inner, "inner", self.inner)
        found: int = getattr(inner, "k", 1)
        return found

    def altered(self, name: str, value: Floats, items: int, rng: np.random.Generator) -> Floats:
        scale = np.float32(self.noise * self.clip / items)
        return value + scale * rng.standard_normal(value.shape, dtype=np.float32)

    def notes(self, rounds: int | None = None) -> dict[str, Any]:
        """Replacing an example moves the gradient of each of the k items that it enters, each by 2 clip at most."""
        if not self.noise:
            return {}
        moved = 2.0 * self.entered * (rounds or self.rounds) ** 0.5
        said = {"epsilon": gaussian_epsilon(moved, self.noise, self.delta), "delta": self.delta}
        return {"nominal": said, "accounted": said, "neighbours": "one example replaced"}


@defense("frozen-embeddings", paper="common practice")
@dataclass(frozen=True)
class FrozenEmbeddings(OnUpdates):
    """Embeddings do not learn, and are not sent."""

    sharing = "layers"


@defense("top-layers", paper="common practice")
@dataclass(frozen=True)
class TopLayers(OnUpdates):
    """Only the top layers and the head learn and are sent."""

    n: int = 1
    """layers"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 1:
            raise ValueError("n must be at least 1; for none, use head-only")

    @property
    def sharing(self) -> str:
        return f"top:{self.n}"


@defense("head-only", paper="common practice")
@dataclass(frozen=True)
class HeadOnly(OnUpdates):
    """Only the head learns and is sent."""

    sharing = "head"


@defense("prune", paper="as in Zhu et al. 2019 (DLG), section 5.2")
@dataclass(frozen=True)
class Prune(OnUpdates):
    """The smallest entries of each tensor are not sent."""

    share: float = 0.9
    """of the entries that are not zero, how many are dropped"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.share < 1:
            raise ValueError("share must lie between 0 and 1, 1 not included")

    def altered(self, name: str, value: Floats, items: int, rng: np.random.Generator) -> Floats:
        size = np.abs(value)
        there = size[size > 0]
        if not len(there):
            return value
        kept: Floats = np.where(size >= np.quantile(there, self.share), value, np.float32(0))
        return kept
