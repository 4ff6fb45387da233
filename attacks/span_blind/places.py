"""Which words a batch has, and where each of them stands.

A token's gradient reaches the row of its word and the row of its place alike. So the row of a place is the sum of what
reached the words that stand there: for a word that the batch has once, its own row. Least squares of the rows of places
on those of words therefore says where such a word stands, and nothing needs to be searched for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench import Ints
from bench.attacks.common.updates import PLACES, WORDS, hidden, longest, tensor, touched
from bench.attacks.span import words
from bench.attacks.span.subspace import Values, span_of
from bench.surfaces.seen import SeenUpdate, SeenUpdates

Flags = npt.NDArray[np.bool_]
# Of the typical distance of a word at a place to the first span: nearer ones may stand there.
NEAR = 1e-3
# A word has one place if so much of its row is found at one; then it stands where this much is. In between, a word
# that stands at two places has about half at each.
LONE, PART = 0.6, 0.3


@dataclass(frozen=True)
class Standing:
    """What the first tensors of an update say of its words."""

    words: Ints
    """those of the batch, [CLS] and [SEP] included"""
    may: Flags
    """words × places: where each may stand, as far as this can be told"""
    share: Values
    """words × places: how much of a word's gradient is found at a place; 0 where that is not known"""
    lone: Flags
    """the words that the batch seems to have once"""

    @property
    def places(self) -> int:
        count: int = self.may.shape[1]
        return count


def standing(seen: SeenUpdates, number: int) -> Standing:
    update, architecture = seen[number], seen.architecture
    places = min(seen.max_length, architecture.positions)
    shown = WORDS in seen.shared and not hidden(update, WORDS, seen.shared[WORDS][0])
    if shown:
        places = min(places, longest(seen, update))
        # With many words, those that stand at several places, whose rows are sums, disturb the others too much.
        if 2 * len(update.rows(WORDS)[0]) <= architecture.dim:
            return _by_rows(update, architecture.offset, places)
    first = span_of(tensor(update, "layer.0.qkv.weight"))
    near = words.distances(first, seen.weights, architecture.offset, places, architecture.eps)
    found = touched(update, WORDS, seen.shared[WORDS][0]) if shown else words.in_span(near, first)
    limit = NEAR * np.median(near) if not first.whole else np.inf
    return Standing(found, near[found] <= limit, np.zeros((len(found), places)), np.zeros(len(found), dtype=bool))


def _by_rows(update: SeenUpdate, offset: int, count: int) -> Standing:
    found, rows = update.rows(WORDS)
    numbers, of_places = update.rows(PLACES)
    places = np.zeros((count, rows.shape[1]))
    here = (numbers >= offset) & (numbers < offset + count)
    places[numbers[here] - offset] = of_places[here]
    share = np.linalg.lstsq(np.asarray(rows, dtype=np.float64).T, places.T, rcond=None)[0].astype(np.float64)
    lone: Flags = share.max(axis=1, initial=0.0) > LONE
    may = ~lone[:, None] | (share > PART)
    return Standing(found, may, share, lone)
