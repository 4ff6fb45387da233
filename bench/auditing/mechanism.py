"""A defense as an audit runs it, and what can be learnt of its noise from runs of one's own.

Whoever audits knows the code: all that is learnt here comes from keys of rehearsals, never from the runs that count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bench.arrays import Floats
from bench.toolkit.corpus import Corpus
from bench.types import Key

# Elements of noise that its density is learnt from.
NOISE = 200_000


@dataclass(frozen=True)
class Run:
    """What one run of a defense releases over all epochs, and its key."""

    encodings: Floats
    labels: Floats
    key: Key
    notes: dict[str, Any]

    @property
    def clean(self) -> Floats:
        """The encodings without their noise."""
        found: Floats = self.encodings if self.key.noise is None else self.encodings - self.key.noise
        return found


@dataclass(frozen=True)
class Mechanism:
    defense: Any
    public: Corpus | None
    epochs: int

    def run(self, vectors: Floats, labels: Floats, rng: np.random.Generator) -> Run:
        release, key = self.defense.release(vectors, labels, self.public, rng, epochs=self.epochs)
        return Run(np.asarray(release.encodings), np.asarray(release.labels), key, release.notes)


@dataclass(frozen=True)
class Noise:
    """Independent noise of one density in every coordinate."""

    family: Literal["laplace", "gaussian"]
    scale: float

    @classmethod
    def learnt(cls, runs: list[Run]) -> Noise | None:
        """The likelier of the two densities; None where encodings have no noise, or masks hide what it was added to."""
        noises = [run.key.noise for run in runs if run.key.noise is not None and run.key.mask is None]
        if len(noises) < len(runs):
            return None
        drawn = np.concatenate([noise.ravel() for noise in noises])[:NOISE].astype(np.float64)
        absolute, deviation = float(np.abs(drawn).mean()), float(np.sqrt(np.mean(drawn**2)))
        if deviation == 0:
            return None
        # Log-likelihoods for each element, each density at its own best scale.
        laplace, gaussian = -np.log(2 * absolute) - 1, -np.log(deviation * np.sqrt(2 * np.pi)) - 0.5
        return cls("laplace", absolute) if laplace > gaussian else cls("gaussian", deviation)

    def log_density(self, rows: Floats, means: Floats) -> Floats:
        """rows × means, but for a constant."""
        if self.family == "gaussian":
            squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ means.T + (means**2).sum(axis=1)
            found: Floats = squares / (-2 * self.scale**2)
            return found
        from scipy.spatial.distance import cdist

        absolute: Floats = (cdist(rows, means, "cityblock") / -self.scale).astype(np.float32)
        return absolute


def claim(notes: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    """The ε that is claimed, the one that is accounted, and the claim's δ, as a release notes them."""
    nominal, accounted = notes.get("nominal") or {}, notes.get("accounted") or {}
    return nominal.get("epsilon"), accounted.get("epsilon"), nominal.get("delta")
