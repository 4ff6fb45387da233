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
# How many times the mean square of a mean must be what chance makes it, to be taken for more.
SIGNIFICANT = 3.0


@dataclass(frozen=True)
class Run:
    """What one run of a defense releases over all epochs, and its key."""

    encodings: Floats
    labels: Floats
    key: Key
    notes: dict[str, Any]


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
    def learnt(cls, noises: list[Floats]) -> Noise | None:
        """The likelier of the two densities; None where nothing is random."""
        rows = np.concatenate(noises)
        rows = rows[: max(2, NOISE // rows.shape[1])].astype(np.float64)
        deviation = float(np.sqrt(np.mean(rows**2)))
        if deviation == 0:
            return None
        # Coordinates may differ in scale, where noise lies in a few directions: each is judged by its own.
        each = np.sqrt(np.mean(rows**2, axis=0))
        drawn = rows[:, each > 1e-9 * deviation] / each[each > 1e-9 * deviation]
        absolute = float(np.abs(drawn).mean())
        # Log-likelihoods for each element, each density at its own best scale.
        laplace, gaussian = -np.log(2 * absolute) - 1, -0.5 * np.log(2 * np.pi) - 0.5
        return cls("laplace", deviation * absolute) if laplace > gaussian else cls("gaussian", deviation)

    def log_density(self, rows: Floats, means: Floats) -> Floats:
        """rows × means, but for a constant."""
        if self.family == "gaussian":
            squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ means.T + (means**2).sum(axis=1)
            found: Floats = squares / (-2 * self.scale**2)
            return found
        from scipy.spatial.distance import cdist

        absolute: Floats = (cdist(rows, means, "cityblock") / -self.scale).astype(np.float32)
        return absolute


def random_parts(runs: list[Run]) -> list[Floats] | None:
    """The random part of every encoding in runs on the same data; None where there is no noise, or masks hide what it
    was added to.

    A key's noise may hold what is always the same for an example, such as what a projection takes away. Where the mean
    over runs is more than chance makes it, it is taken off.
    """
    noises = [run.key.noise for run in runs if run.key.noise is not None and run.key.mask is None]
    if len(noises) < len(runs):
        return None
    means, owners = [], 1 + max(int(run.key.owner.max()) for run in runs)
    for noise, run in zip(noises, runs, strict=True):
        sums = np.zeros((owners, noise.shape[1]), dtype=np.float64)
        np.add.at(sums, run.key.owner, noise)
        means.append(sums / np.maximum(np.bincount(run.key.owner, minlength=owners), 1)[:, None])
    stacked = np.stack(means)
    always, chance = stacked.mean(axis=0), stacked.var(axis=0) / len(runs)
    if np.mean(always**2) <= SIGNIFICANT * np.mean(chance):
        return noises
    return [(noise - always[run.key.owner]).astype(np.float32) for noise, run in zip(noises, runs, strict=True)]


def claim(notes: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    """The ε that is claimed, the one that is accounted, and the claim's δ, as a release notes them."""
    nominal, accounted = notes.get("nominal") or {}, notes.get("accounted") or {}
    return nominal.get("epsilon"), accounted.get("epsilon"), nominal.get("delta")
