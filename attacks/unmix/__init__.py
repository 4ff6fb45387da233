"""Unmix: decode each encoding as a sparse non-negative mix of corpus sentences whose signs are unknown.

The threat model is that of TextHide's own similarity search, the encodings and a corpus that contains the sentences,
plus the scheme, which is public. docs/attacks/unmix.md explains the method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench import Guess, Protocol, View, attack


@attack(
    "unmix",
    sees={"encodings", "corpus", "defense"},
    paper="this suite: docs/attacks/unmix.md",
    protocol=Protocol(examples=1000, epochs=1),
)
@dataclass(frozen=True)
class Unmix:
    """Signs by message passing, sentences by pursuit, certainty by the residual."""

    k: int | Literal["residual"] = 0
    """sentences in each mix; 0: as the scheme says; residual: as many as explain most encodings exactly"""
    cycles: int = 3
    """how many times each slot of a mix is emptied and filled again"""
    pool: bool = True
    """decode what remains a second time, with sentences found elsewhere held likelier"""

    def __post_init__(self) -> None:
        if self.k != "residual" and self.k < 0:
            raise ValueError("k must be at least 1, or 0 to take it from the scheme, or residual")
        if self.cycles < 0:
            raise ValueError("cycles must be 0 or more")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        # Imported here: whoever checks this attack's options need not wait for torch.
        from bench.attacks.unmix.solve import unmix

        return unmix(view, self.k, self.cycles, self.pool, rng)
