"""Search by magnitudes: a mask changes signs only, so what a mix looks like without them is still there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Floats, Guess, Protocol, View, attack
from bench.toolkit.search import nearest

# The encodings' own mean counts for as much as this many of them: a mean of one would leave nothing of a single one.
FEW = 4


@attack(
    "magnitude-search",
    sees={"encodings", "corpus"},
    paper="this suite: docs/attacks/unmix.md",
    protocol=Protocol(examples=1000, epochs=1),
)
@dataclass(frozen=True)
class MagnitudeSearch:
    """The nearest corpus sentences by the centred, scaled absolute values of their vectors."""

    top: int = 16
    """sentences named for each encoding, best first"""

    def __post_init__(self) -> None:
        if self.top < 1:
            raise ValueError("top must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        view.stage("comparing magnitudes")
        encodings, corpus = np.abs(view.encodings), np.abs(view.corpus.vectors)
        return Guess(ranking=nearest(*centred(encodings, corpus), self.top, device=view.device))


def centred(encodings: Floats, corpus: Floats) -> tuple[Floats, Floats]:
    """Both sides minus their own means, in units of the corpus's spread on each coordinate.

    Each by its own mean: averaging shrinks magnitudes, so mixes have a smaller mean than sentences, and what is left
    after centring by the wrong one is common to all encodings and drowns what tells them apart.
    """
    mean = corpus.mean(axis=0, dtype=np.float64)
    spread = corpus.std(axis=0, dtype=np.float64)
    varies = spread > 1e-5 * spread.max(initial=0.0)
    scale = np.where(varies, 1 / np.where(varies, spread, 1), 0)
    count = len(encodings)
    own = (encodings.sum(axis=0, dtype=np.float64) + FEW * mean) / (count + FEW) if count else mean
    return ((encodings - own) * scale).astype(np.float32), ((corpus - mean) * scale).astype(np.float32)
