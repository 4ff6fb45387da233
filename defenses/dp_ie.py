"""DP instance encoding: clip each vector, mix k of them, add noise. Laplace and Gaussian.

`calibration` says how the noise follows from ε. `paper` is the published noise, whose ε is only nominal: its proofs
fail (docs/dp-ie.md). `sound` draws noise afresh for every encoding, calibrated so that all encodings that an example
enters together cost at most ε. `once` noises each example a single time; all later mixing is post-processing.
Either way the release notes the ε that is claimed and the ε that holds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bench import Corpus, DataError, Floats, Key, Release, defense
from bench.toolkit.mixing import Weights, apply, draw_masks, draw_members, draw_weights, mix
from bench.toolkit.privacy import Norm, clip_factors, exposure, gaussian_epsilon, gaussian_sigma, l1_diameter


@dataclass(frozen=True)
class InstanceEncoding(ABC):
    """What the two noises share."""

    epsilon: float = 1.0
    """the privacy budget that is asked for"""
    calibration: Literal["paper", "sound", "once"] = "paper"
    """the published noise, noise that keeps the promise, or one noise per example"""
    clip: float = 1.0
    """bound C on a vector's norm, in units of the median norm"""
    norm: Norm = "l2"
    """the norm that is clipped"""
    k: int = 4
    """examples in each mix"""
    m: int | Literal["inf"] = 0
    """masks, as in TextHide; none by default"""
    weights: Weights = "half-normal"
    """|N(0, 1)| or U(0, 1), normalised to sum 1"""
    distinct: bool = False
    """never mix an example with itself"""
    batch: int | Literal["all"] = 32
    """size of the pool that is mixed within"""

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or math.isinf(self.epsilon):
            raise ValueError("epsilon must be above 0 and finite")
        if not self.clip > 0 or math.isinf(self.clip):
            raise ValueError("clip must be above 0 and finite")
        if self.k < 1:
            raise ValueError("k must be at least 1")
        if self.m != "inf" and self.m < 0:
            raise ValueError("m must be 0 (no mask), a positive number of masks, or inf")
        if self.batch != "all" and self.batch < 1:
            raise ValueError("batch must be at least 1, or all")

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        n, dim = vectors.shape
        plain = np.asarray(vectors.detach().cpu() if hasattr(vectors, "detach") else vectors)
        bound = self.bound(plain)
        members = draw_members(n, self.k, epochs, rng, batch=self.batch, distinct=self.distinct)
        weights = draw_weights(len(members), self.k, self.weights, rng)
        mask, pool = draw_masks(len(members), dim, self.m, rng)
        factors = clip_factors(plain, bound, self.norm)
        key = Key(members[:, 0], members, weights, mask, pool, one_time=self.m == "inf", scale=factors)
        total, root = (1.0, 1.0) if self.calibration == "once" else exposure(members, weights, n)
        scale = self.noise_scale(bound, dim, total, root)
        if self.calibration == "once":
            noise = mix(self.draw((n, dim), scale, rng), members, weights)
        else:
            noise = self.draw((len(members), dim), scale, rng)
        key = replace(key, noise=noise)
        delta = getattr(self, "delta", 0.0)
        notes = {
            "nominal": {"epsilon": self.epsilon, "delta": delta},
            "accounted": {"epsilon": self.true_epsilon(bound, dim, total, root, scale), "delta": delta},
            "clip_bound": bound,
            "noise_scale": scale,
            "labels": "declared public",
        }
        return Release(apply(vectors, key), mix(labels, members, weights), notes), key

    def inference(self, vectors: Floats, key: Key, rng: np.random.Generator) -> Floats:
        """What a trained model is asked on: clipped as in training, without noise."""
        # Norms hardly differ between splits, so the median of the questions themselves gives the same bound.
        scaled: Floats = np.asarray(vectors) * clip_factors(vectors, self.bound(vectors), self.norm)[:, None]
        return scaled

    def check_training(self) -> None:
        """Whether the promise holds while the encoder learns."""
        if self.calibration != "paper":
            raise ValueError(
                f"calibration={self.calibration} is for vectors that stay as they are: its noise is drawn for one "
                "release of all epochs; take calibration=paper, or --training frozen"
            )

    def composed(self, notes: dict[str, Any], dim: int, total: float, root: float) -> float:
        """The ε that holds over many releases like the one of `notes`, for an example whose weights add up to `total`,
        and the squares of its weights to `root`²."""
        return self.true_epsilon(notes["clip_bound"], dim, total, root, notes["noise_scale"])

    def bound(self, vectors: Floats) -> float:
        """C. The median norm is taken as public knowledge, as the paper's unstated C must have been."""
        median = float(np.median(np.linalg.norm(vectors, ord=1 if self.norm == "l1" else 2, axis=1)))
        if median == 0:
            raise DataError("more than half of the vectors are zero: there is no norm to clip to")
        return self.clip * median

    @abstractmethod
    def noise_scale(self, bound: float, dim: int, total: float, root: float) -> float:
        """b or σ, for vectors clipped to `bound` and an exposure of `total` (Σ w) and `root` (√Σ w²)."""

    @abstractmethod
    def true_epsilon(self, bound: float, dim: int, total: float, root: float, scale: float) -> float:
        """The ε that holds for this noise."""

    @abstractmethod
    def draw(self, shape: tuple[int, int], scale: float, rng: np.random.Generator) -> Floats:
        """Independent noise."""


@defense("dp-ie-laplace", paper="DP instance encoding, theorem 3")
@dataclass(frozen=True)
class Laplace(InstanceEncoding):
    """Clip, mix k, add Laplace noise; pure ε."""

    def noise_scale(self, bound: float, dim: int, total: float, root: float) -> float:
        if self.calibration == "paper":
            return 2 * bound / self.epsilon  # takes the ℓ2 diameter for the ℓ1 one, and one encoding for all
        return l1_diameter(bound, dim, self.norm) * total / self.epsilon

    def true_epsilon(self, bound: float, dim: int, total: float, root: float, scale: float) -> float:
        return l1_diameter(bound, dim, self.norm) * total / scale

    def draw(self, shape: tuple[int, int], scale: float, rng: np.random.Generator) -> Floats:
        return rng.laplace(0.0, scale, shape).astype(np.float32)


@defense("dp-ie-gaussian", paper="DP instance encoding, theorem 4")
@dataclass(frozen=True)
class Gaussian(InstanceEncoding):
    """Clip, mix k, add Gaussian noise; (ε, δ)."""

    delta: float = 1e-5
    """the probability with which ε may not hold"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.delta < 1:
            raise ValueError("delta must lie between 0 and 1")

    def noise_scale(self, bound: float, dim: int, total: float, root: float) -> float:
        if self.calibration == "paper":
            return bound * (1 + math.sqrt(2 * math.log(1 / self.delta))) / self.epsilon
        return gaussian_sigma(2 * bound * root, self.epsilon, self.delta)

    def true_epsilon(self, bound: float, dim: int, total: float, root: float, scale: float) -> float:
        # Clipping in ℓ1 bounds the ℓ2 norm as well, so the same diameter holds for both.
        return gaussian_epsilon(2 * bound * root, scale, self.delta)

    def draw(self, shape: tuple[int, int], scale: float, rng: np.random.Generator) -> Floats:
        return (rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)).astype(np.float32)
