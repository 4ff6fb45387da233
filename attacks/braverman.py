"""Braverman's attack on InstaHide: mixed-in vectors correlate with the encoding in their squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Floats, Guess, Ints, Protocol, View, attack

BLOCK_BYTES = 64 << 20


@attack(
    "braverman",
    sees={"encodings", "corpus"},
    paper="Huang et al. 2020 (InstaHide), section 9, after Braverman",
    protocol=Protocol(examples=1000, epochs=1),
)
@dataclass(frozen=True)
class Braverman:
    """Corpus sentences s by falling ⟨x̃², s²⟩ − ‖x̃‖²‖s‖²/d."""

    top: int = 16
    """sentences named for each encoding, best first"""

    def __post_init__(self) -> None:
        if self.top < 1:
            raise ValueError("top must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        view.stage("correlating squares")
        return Guess(ranking=rank(np.asarray(view.encodings), np.asarray(view.corpus.vectors), self.top))


def rank(encodings: Floats, corpus: Floats, top: int) -> Ints:
    """The published formula equals ⟨x̃² − ‖x̃‖²/d, s²⟩, one product; scores in blocks of at most 64 MiB."""
    squares = np.square(corpus)
    top = min(top, len(corpus))
    out = np.empty((len(encodings), top), dtype=np.int64)
    step = max(1, BLOCK_BYTES // (4 * max(1, len(corpus))))
    for at in range(0, len(encodings), step):
        block = np.square(encodings[at : at + step])
        score = (block - block.mean(axis=1, keepdims=True)) @ squares.T
        best = np.argpartition(-score, top - 1, axis=1)[:, :top]
        order = np.argsort(-np.take_along_axis(score, best, axis=1), axis=1, kind="stable")
        out[at : at + step] = np.take_along_axis(best, order, axis=1)
    return out
