"""The obvious search for pictures under noise: which candidate has the largest correlation with the encoding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Guess, Protocol, View, attack
from bench.attacks.common.pixels import decoded, scheme_of_pixels

# Encodings compared with all candidates at a time.
BLOCK = 512


@attack(
    "nearest-picture",
    sees={"encodings", "corpus", "defense", "encoder"},
    paper="this suite: docs/attacks/instahide.md",
    protocol=Protocol(examples=1000, epochs=1),
    on=("images",),
)
@dataclass(frozen=True)
class NearestPicture:
    """The candidate of largest correlation with each encoding; with its magnitudes, where signs are masked."""

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        encodings, corpus = np.asarray(view.encodings), np.asarray(view.corpus.vectors)
        known = corpus
        if scheme_of_pixels(view, encodings.shape[1], rng).masked:
            encodings, known = np.abs(encodings), np.abs(corpus)
        known = known - known.mean(axis=1, keepdims=True)
        known /= np.linalg.norm(known, axis=1, keepdims=True) + 1e-12
        view.stage("searching among candidates")
        # Candidates sum to zero and have length 1, so that encodings need neither for the order.
        rows = [(encodings[at : at + BLOCK] @ known.T).argmax(axis=1) for at in range(0, len(encodings), BLOCK)]
        return Guess(images=decoded(view, corpus[np.concatenate(rows)])[:, None])
