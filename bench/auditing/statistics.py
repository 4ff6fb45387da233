"""Statistics that tell which of two vectors a release was made with: positive for the second one.

`LikelihoodRatio` is for noise whose density is known. The others need nothing but encodings, so that they work on any
defense: they compare encodings, or their magnitudes where masks hide the signs, with the two vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.arrays import Floats, Ints
from bench.auditing.mechanism import Noise, Run, random_parts

# Noise-free encodings by which weights and partners are marginalised, for each hypothesis.
SAMPLES = 32
# Encodings compared at a time: 4,096 × 2,000 similarities are 33 MB.
BLOCK = 4096


@dataclass(frozen=True)
class LikelihoodRatio:
    """log p(release | second) − log p(release | first), encoding by encoding.

    What an encoding is the mean of (members, weights) is not released: it is marginalised over a sample of what the
    defense draws. `labels` are noisy ones that are part of the promise: a sample counts for items of its own label.
    """

    noise: Noise
    means: tuple[Floats, Floats]
    labels: tuple[Floats, Floats] | None
    repeats: bool
    """the same encodings are released in every epoch: copies say nothing new"""

    @classmethod
    def learnt(
        cls, runs: tuple[list[Run], list[Run]], private_labels: bool, rng: np.random.Generator
    ) -> LikelihoodRatio | None:
        """From rehearsals under either hypothesis; None where the density cannot be known."""
        parts = [random_parts(some) for some in runs]
        if parts[0] is None or parts[1] is None:
            return None
        noise = Noise.learnt([*parts[0], *parts[1]])
        if noise is None:
            return None
        means, labels = [], []
        same = repeats(runs[0][0].encodings)
        for some, drawn in zip(runs, parts, strict=True):
            assert drawn is not None
            clean = np.concatenate([run.encodings - part for run, part in zip(some, drawn, strict=True)])
            rows = rng.permutation(len(clean))[:SAMPLES] if not same else _first_of_each(some)
            means.append(clean[rows])
            labels.append(np.concatenate([run.labels for run in some])[rows])
        return cls(noise, (means[0], means[1]), (labels[0], labels[1]) if private_labels else None, same)

    def score(self, run: Run) -> float:
        rows, labels = run.encodings, run.labels
        if self.repeats:
            _, first = np.unique(rows[:, 0], return_index=True)
            rows, labels = rows[first], labels[first]
        found = []
        for hypothesis, means in enumerate(self.means):
            likely = self.noise.log_density(rows, means).astype(np.float64)
            if self.labels is not None:
                same = (labels[:, None] == self.labels[hypothesis][None]).all(axis=2)
                likely = np.where(same, likely, -np.inf)
            top = np.maximum(likely.max(axis=1), -1e300)
            # One more sample of an unlikely encoding: a label that no sample has must not decide by itself.
            found.append(top + np.log(np.exp(likely - top[:, None]).mean(axis=1) + 1e-12))
        return float((found[1] - found[0]).sum())


def repeats(encodings: Floats) -> bool:
    """Whether some encodings are copies of others, as where noise is drawn once and stored."""
    return len(np.unique(encodings[:, 0])) < len(encodings)


def _first_of_each(runs: list[Run]) -> Ints:
    """The rows, of all runs together, in which an encoding stands for the first time."""
    together = np.concatenate([run.encodings[:, 0] for run in runs])
    return np.unique(together, return_index=True)[1][: 20 * SAMPLES]


@dataclass(frozen=True)
class Comparison:
    """How much more the encodings resemble the second vector than the first."""

    name: str
    magnitudes: bool
    """absolute values are compared: what masks leave"""
    strongest: bool
    """the most similar encoding counts, and not the mean of all"""
    centre: Floats
    spread: Floats
    """of encodings in rehearsals, coordinate by coordinate"""
    middle: Floats
    """mean of the vectors that encodings are compared with"""

    @classmethod
    def learnt(cls, runs: list[Run], vectors: Floats) -> list[Comparison]:
        encodings = np.concatenate([run.encodings for run in runs])
        found = []
        for name, magnitudes, strongest in (
            ("mean", False, False),
            ("nearest", False, True),
            ("magnitudes", True, True),
        ):
            shown, known = (np.abs(encodings), np.abs(vectors)) if magnitudes else (encodings, vectors)
            spread = shown.std(axis=0)
            spread[spread < 1e-9] = 1
            found.append(cls(name, magnitudes, strongest, shown.mean(axis=0), spread, known.mean(axis=0)))
        return found

    def scores(self, encodings: Floats, first: Floats, second: Floats) -> Floats:
        """One for each row of `first` and `second`."""
        asked = np.concatenate([first, second])
        asked = ((np.abs(asked) if self.magnitudes else asked) - self.middle) / self.spread
        asked /= np.maximum(np.linalg.norm(asked, axis=1, keepdims=True), 1e-12)
        level = np.full(len(asked), -np.inf if self.strongest else 0.0)
        for at in range(0, len(encodings), BLOCK):
            shown = encodings[at : at + BLOCK]
            shown = ((np.abs(shown) if self.magnitudes else shown) - self.centre) / self.spread
            if self.strongest:
                shown = shown / np.maximum(np.linalg.norm(shown, axis=1, keepdims=True), 1e-12)
                np.maximum(level, (shown @ asked.T).max(axis=0), out=level)
            else:
                level += asked @ shown.sum(axis=0)
        found: Floats = level[len(first) :] - level[: len(first)]
        return found
