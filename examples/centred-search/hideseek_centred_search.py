"""Similarity search after taking off what all vectors have in common."""

from dataclasses import dataclass

from bench import Guess, Protocol, attack
from bench.toolkit.search import nearest


@attack(
    "centred-search",
    sees={"encodings", "corpus"},
    paper="an example, after Huang et al. 2020 (TextHide), section 4.4",
    protocol=Protocol(examples=1000, epochs=1),
)
@dataclass(frozen=True)
class CentredSearch:
    """The corpus sentences nearest to each encoding, once each side's mean is taken off."""

    top: int = 16
    """sentences named for each encoding, best first"""

    def run(self, view, rng):
        encodings = view.encodings - view.encodings.mean(axis=0)
        corpus = view.corpus.vectors - view.corpus.vectors.mean(axis=0)
        return Guess(ranking=nearest(encodings, corpus, self.top, device=view.device))
