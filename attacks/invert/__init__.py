"""Text out of vectors, without a list of candidates: a decoder writes, edits polish, the encoder judges.

This file holds the options. `inverter` runs the stages: `training` (or its store) gives the decoder, `bag` and `ngrams`
what can be learnt in seconds, `edits` the search (docs/attacks/invert.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench import Guess, Protocol, UsageError, View, Written, attack

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
    keep: int = 3
    """sentences for each vector that go on to the next round"""
    joint: int = 16
    """sentences with several edits at once that are tried in a round, at most; 0: one edit at a time"""
    unseen: bool = True
    """without a decoder: write words that public text lacks and the encoder's own vocabulary has, too"""
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

        texts, details = Inverter(self, view.encoder, view.public, view.stage).texts(view.encodings)
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

        inverter = Inverter(
            self, view.encoder, view.public, view.stage
        )  # first: what is wrong with the encoder should not take minutes to be said
        vectors = XieHongBlind().run(view, rng)
        assert vectors.vectors is not None
        texts, details = inverter.texts(vectors.vectors)
        return Written(written=texts, ordered=False, details={**vectors.details, **details})


@attack(
    "invert-few",
    sees={"encodings", "pairs"},
    paper="after ALGEN (Chen et al. 2025)",
    protocol=Protocol(examples=200, epochs=1, candidates=1000, coverage=0.0),
)
@dataclass(frozen=True)
class InvertFew(Invert):
    """invert without the encoder: some pairs of text and vector are known, and an encoder of one's own stands in."""

    known: int = 1000
    """public sentences of which the attacker knows the vector, too"""
    own: Literal["minilm", "mpnet", "bert"] = "minilm"
    """the encoder that the attacker has"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.known < 2:
            raise ValueError("known must be at least 2")
        if self.method in ("decoder", "both"):
            raise ValueError("invert-few trains no decoder: use method=search or method=nearest")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench import Corpus
        from bench.attacks.invert.few import align, own_encoder
        from bench.attacks.invert.inverter import Inverter

        encoder, encode = own_encoder(self.own, view.stage)
        given = np.asarray(view.pairs.vectors)
        if view.encodings.shape[1] != given.shape[1]:
            raise UsageError(
                f"the pairs' vectors have {given.shape[1]} dimensions and the encodings {view.encodings.shape[1]}"
            )
        view.stage("learning to map vectors to those of the encoder at hand")
        aligned = align(given, encode(view.pairs.texts))
        inverter = Inverter(self, encoder, Corpus(view.reading, encode(view.reading)), view.stage, aligned.trust)
        texts, details = inverter.texts(aligned(view.encodings))
        details["right of the map"] = round(float(aligned.right.mean()), 4)
        return Written(written=texts, details=details)
