"""Text out of vectors, without a list of candidates: a decoder writes, edits polish, the encoder judges.

This file holds the options. `inverter` runs the stages: `training` (or its store) gives the decoder, `bag` and `ngrams`
what can be learnt in seconds, `edits` the search (docs/attacks/invert.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench import Guess, Protocol, View, Written, attack

Method = Literal["nearest", "decoder", "search", "both"]
EPOCHS = 50


@attack(
    "invert",
    sees={"encodings", "public", "encoder"},
    paper="after GEIA (Li et al. 2023), vec2text (Morris et al. 2023) and ZSInvert (Zhang et al. 2025)",
    protocol=Protocol(examples=200, epochs=1, candidates=1000, coverage=0.0),
)
@dataclass(frozen=True)
class Invert:
    """Sentences written from their vectors, with nothing known but the encoder and public text."""

    method: Method = "search"
    """nearest: the nearest public sentence, to compare with; decoder: trained on public text; search: edits from public
    sentences, untrained; both: edits from what the decoder writes"""
    passes: int = 1
    """of the decoder's training over public text"""
    length: int = 24
    """words of a sentence, at most: longer ones are cut"""
    starts: int = 8
    """sentences that a search starts from: the nearest public ones, and as many of the decoder's"""
    rounds: int = 12
    """of edits, at most"""
    moves: int = 24
    """insertions and substitutions of a sentence that are tried in a round, each"""
    keep: int = 2
    """sentences for each vector that go on to the next round"""
    joint: int = 16
    """sentences with several edits at once that are tried in a round, at most; 0: one edit at a time"""
    half: bool = True
    """sort proposals by the encoder's weights in half precision, where weights and processor allow it"""

    def __post_init__(self) -> None:
        for name in ("passes", "length", "starts", "rounds", "moves", "keep"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.joint < 0:
            raise ValueError("joint must be at least 0")
        if self.moves < 2:
            raise ValueError("moves must be at least 2")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        # Imported here: whoever checks this attack's options need not wait for its libraries.
        from bench.attacks.invert.inverter import Inverter

        texts, details = Inverter(self, view).texts(view.encodings)
        return Written(written=texts, details=details)


@attack(
    "xie-hong-invert",
    sees={"encodings", "labels", "public", "defense", "encoder"},
    paper="Xie and Hong 2021 for the vectors, then invert",
    protocol=Protocol(examples=100, epochs=EPOCHS, candidates=1000, coverage=0.0),
)
@dataclass(frozen=True)
class XieHongInvert(Invert):
    """xie-hong-blind, then invert: many encodings in, vectors, readable sentences out, nothing else known."""

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.invert.inverter import Inverter
        from bench.attacks.xie_hong import XieHongBlind

        inverter = Inverter(self, view)  # first: what is wrong with the encoder should not take minutes to be said
        vectors = XieHongBlind().run(view, rng)
        assert vectors.vectors is not None
        texts, details = inverter.texts(vectors.vectors)
        return Written(written=texts, ordered=False, details={**vectors.details, **details})
