"""Reads the sentences of a batch out of its update without any corpus, word by word.

`places` says which words there are and where they stand, `residuals` how far sentences are from having made the update,
and `search` looks for those that are not at all (docs/attacks/span.md). This file holds the options.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Guess, Reading, Readings, UpdateProtocol, View, attack
from bench.attacks.common.updates import needed
from bench.attacks.span import TENSORS


@attack(
    "span-blind",
    sees={"updates"},
    paper="after Petrov et al. 2024 (DAGER), for encoders; the places and the search are ours",
    protocol=UpdateProtocol(examples=16, batch=4),
    tensors=(*TENSORS, "first.up.weight"),
)
@dataclass(frozen=True)
class SpanBlind:
    """Sentences put together word by word until their inputs lie in the span of a gradient; no corpus."""

    starts: int = 16
    """sentences that are improved at once"""
    sweeps: int = 8
    """times that every place of them is gone through"""
    tries: int = 4
    """times that a word is started from, before it is given up"""

    def __post_init__(self) -> None:
        if min(self.starts, self.sweeps, self.tries) < 1:
            raise ValueError("starts, sweeps and tries must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        # Imported here: whoever checks this attack's options need not wait for its libraries.
        from bench.attacks.span_blind.search import Search

        seen = view.updates
        needed(seen, ["layer.0.qkv.weight"], "span-blind")
        readings, details = [], []
        for number in range(len(seen)):
            search = Search(seen, number, self, rng)
            for found in search.sentences():
                view.stage(f"update {number + 1} of {len(seen)}: {found} of {search.count} sentences")
            done = len(search.found) == search.count
            readings.append(Reading([list(one) for one in search.found], search.standing.words.tolist(), done))
            details.append({"sentences": search.count, "tokens": search.tokens, "lone": search.lone})
        return Readings(readings=readings, details={"updates": details})
