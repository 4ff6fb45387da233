"""Search by magnitudes: a mask changes signs only, so what a mix looks like without them is still there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Guess, Protocol, View, attack
from bench.attacks.common.magnitudes import standardised
from bench.toolkit.search import nearest


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
        encodings, corpus = standardised(view.encodings, view.corpus.vectors, mixed=True)
        return Guess(ranking=nearest(encodings, corpus, self.top, device=view.device))
