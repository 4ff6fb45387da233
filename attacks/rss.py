"""Representation-based similarity search: the nearest sentence of the corpus, as TextHide's authors attack it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Guess, Protocol, View, attack


@attack(
    "rss",
    sees={"encodings", "corpus"},
    paper="Huang et al. 2020 (TextHide), section 4.4 and table 3",
    protocol=Protocol(examples=1000, epochs=1),
)
@dataclass(frozen=True)
class RSS:
    """The corpus sentences with the largest cosine to each encoding."""

    top: int = 16
    """sentences named for each encoding, best first"""

    def __post_init__(self) -> None:
        if self.top < 1:
            raise ValueError("top must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        return Guess(ranking=view.corpus.search(view.encodings, self.top))
