"""Which words a batch has, from the span of the first layer's inputs, where rows of the embedding are not sent.

A first input is LayerNorm(word + place + type), so that whether a word at a place lies in the span is one number for
each of vocabulary × places. LayerNorm is linear but for its division by the spread: the part outside the span of a sum
is the sum of two parts, and all numbers follow from one product of vocabulary × places; no input is ever formed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bench import Ints
from bench.attacks.span.subspace import Span, Values, members

if TYPE_CHECKING:
    from torch import Tensor

# Words whose distances are computed at a time.
BLOCK = 4096


def distances(
    span: Span, weights: dict[str, Tensor], first: int, places: int, eps: float, rows: Ints | None = None
) -> Values:
    """vocabulary × places: the part of each possible input that is outside the span, relative to its length. With
    `rows` of these words alone."""
    words = _array(weights["embeddings.word"] if rows is None else weights["embeddings.word"][rows])
    spots = _array(weights["embeddings.position"])[first : first + places]
    if "embeddings.type" in weights:
        kinds = _array(weights["embeddings.type"])
        spots = (spots[None] + kinds[:, None]).reshape(-1, spots.shape[1])
    scale, shift = _array(weights["embeddings.norm.weight"]), _array(weights["embeddings.norm.bias"])
    words, spots = (rows - rows.mean(axis=1, keepdims=True) for rows in (words, spots))

    def outside(rows: Values) -> Values:
        return rows - (rows @ span.basis.T) @ span.basis

    base = outside(shift[None])[0]
    spots_out = outside(spots * scale)
    found = np.empty((len(words), len(spots)))
    for at in range(0, len(words), BLOCK):
        some = words[at : at + BLOCK]
        some_out = outside(some * scale)
        spread = np.sqrt(_square_of_sums(some, spots) / words.shape[1] + eps)
        size = _square_of_sums(some * scale, spots * scale, shift, spread)
        found[at : at + BLOCK] = np.sqrt(_square_of_sums(some_out, spots_out, base, spread) / size)
    if "embeddings.type" in weights:
        found = found.reshape(len(words), len(kinds), places).min(axis=1)
    return found


def _square_of_sums(
    one: Values, two: Values, base: Values | None = None, spread: Values | None = None
) -> npt.NDArray[np.float64]:
    """‖(aᵢ + bⱼ) / spreadᵢⱼ + base‖² for all pairs."""
    found = (one**2).sum(axis=1)[:, None] + (two**2).sum(axis=1)[None, :] + 2 * (one @ two.T)
    if base is not None and spread is not None:
        cross = (one @ base)[:, None] + (two @ base)[None, :]
        found = found / spread**2 + 2 * cross / spread + base @ base
    square: npt.NDArray[np.float64] = np.maximum(found, 0.0)
    return square


def in_span(found: Values, span: Span) -> Ints:
    """The words that lie in the span at some place; none, if they do not stand apart from the others."""
    nearest = found.min(axis=1)
    # A square root of rounded squares: it cannot tell less than 1e-7 from nothing.
    chosen = members(np.maximum(nearest, 1e-7), len(nearest) - 1, max(span.floor, 1e-6))
    return np.flatnonzero(chosen)


def _array(value: Any) -> Values:
    array: Values = value.double().numpy()
    return array
