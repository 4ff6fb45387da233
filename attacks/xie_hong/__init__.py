"""Reconstruction from many encodings (Xie and Hong 2021): demask, find pairs, cluster, weigh, reconstruct, answer.

This file holds the options. `chain` runs the stages, which are one module each, in the order of their use: demask,
similarity, clusters, weights, reconstruct, signs. docs/attacks/xie-hong.md says what the paper leaves open, what was
changed, and what each choice is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench import Guess, Protocol, View, attack

PAPER = "Xie and Hong 2021, sections 4 and 5, table 1"
EPOCHS = 50
"""encodings of each example in the paper: what an attacker assumes who cannot count the examples"""


@attack(
    "xie-hong",
    sees={"encodings", "labels", "corpus", "public", "defense"},
    paper=PAPER,
    protocol=Protocol(examples=100, epochs=EPOCHS),
)
@dataclass(frozen=True)
class XieHong:
    """The private vectors that explain all encodings of a release at once."""

    examples: int = 0
    """private examples to look for; 0: counted where the scheme allows it, else one for each 50 encodings"""
    demask: Literal["pool", "abs"] = "pool"
    """use what the mask pool gives away, or only absolute values, as the paper"""
    similarity: Literal["cosine", "mlp"] = "cosine"
    """how clusters tell that two encodings share an example; mlp is trained on shadow encodings, as the paper"""
    steps: int = 400
    """training steps of the mlp"""
    clusters: Literal["auto", "vertices", "greedy", "assignment", "kmeans"] = "auto"
    """corners of the simplex (needs no pairs), greedy growth (the paper), growth then b-matching, or k-means;
    auto: vertices, but greedy where noise or public sentences are mixed in, among which the farthest mean nothing"""
    weights: Literal["simplex", "labels"] = "simplex"
    """fitted, or read off the mixed labels once, as the paper"""
    rounds: int = 8
    """rounds of reconstruction, at most"""
    phase: bool = True
    """solve the signs of a coordinate over all examples at once between rounds"""
    moves: bool = True
    """move vectors that explain nothing to what is unexplained between rounds"""
    signs: Literal["candidates", "covariance", "mean"] = "candidates"
    """what settles the last sign of each coordinate: nearest candidates, the reference's covariance, or its mean"""
    snap: bool = False
    """start two more rounds from the nearest candidates: an attacker that trusts the corpus to hold the examples"""

    def __post_init__(self) -> None:
        if self.examples < 0 or self.examples == 1:
            raise ValueError("examples must be at least 2, or 0 to have it counted")
        if self.rounds < 1 or self.steps < 1:
            raise ValueError("rounds and steps must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        # Imported here: whoever checks this attack's options need not wait for its libraries.
        from bench.attacks.xie_hong.chain import Chain

        return Chain(self, view, view.corpus, rng).guess()


@attack(
    "xie-hong-blind",
    sees={"encodings", "labels", "public", "defense"},
    paper=PAPER,
    protocol=Protocol(examples=100, epochs=EPOCHS),
)
@dataclass(frozen=True)
class XieHongBlind(XieHong):
    """xie-hong without a corpus of candidates: vectors alone, their signs settled by public sentences."""

    signs: Literal["candidates", "covariance", "mean"] = "covariance"
    """what settles the last sign of each coordinate: the public corpus's covariance, or its mean"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.signs == "candidates" or self.snap:
            raise ValueError("xie-hong-blind has no candidates: use signs=covariance or signs=mean, without snap")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.xie_hong.chain import Chain

        return Chain(self, view, None, rng).guess()
