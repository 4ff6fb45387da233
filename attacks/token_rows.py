"""The words of a batch from the gradient of the word embedding: a row is zero if and only if no token chose it.

No defense of the representation touches that: mixing, masks and noise come after the encoder, and change what the rows
hold, not which of them there are. The rows of the position embedding give the longest length in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Guess, Reading, Readings, View, attack
from bench.attacks.common.updates import PLACES, WORDS, longest, needed, touched


@attack("token-rows", sees={"updates"}, paper="as in Melis et al. 2019 and others since", tensors=(WORDS, PLACES))
@dataclass(frozen=True)
class TokenRows:
    """The words of each batch: rows of the word embedding whose gradient is not zero. Names no sentences."""

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        seen = view.updates
        needed(seen, [WORDS], "token-rows")
        readings, lengths = [], []
        for number in range(len(seen)):
            view.stage(f"update {number + 1} of {len(seen)}")
            words = touched(seen[number], WORDS, seen.shared[WORDS][0])
            readings.append(Reading(tokens=[int(token) for token in words]))
            if PLACES in seen.shared:
                lengths.append(longest(seen, seen[number]))
        return Readings(readings=readings, details={"longest": lengths})
