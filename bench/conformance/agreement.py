"""How far two guesses of one attack agree: for checks of determinism and of the order of a release."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from bench.arrays import Ints
from bench.toolkit.search import unit
from bench.types import Guess

# Mean squared error, for pixels in [0, 1], up to which two pictures are the same answer.
ALIKE = 1e-3


def agreement(first: Guess, other: Guess, order: Ints, width: int) -> float:
    """How far the answers are the same, where `other` saw item `order[i]` in place i.

    Of rankings, the share of an item's first answers that both name, as many as are mixed: an attack may put them in
    an order that names every example once. Of vectors, the mean cosine of those that match best. Of pictures, the
    share that are alike.
    """
    if first.images is not None and other.images is not None:
        gap = np.asarray(first.images, np.float64)[order] - other.images
        return float(((gap**2).mean(axis=(2, 3, 4)) <= ALIKE).mean())
    if first.ranking is not None and other.ranking is not None:
        one, two = np.asarray(first.ranking)[order, :width], np.asarray(other.ranking)[:, :width]
        return float((one[:, :, None] == two[:, None, :]).any(axis=2).mean()) if one.shape == two.shape else 0.0
    if first.texts is not None and other.texts is not None:
        return float(np.mean([first.texts[i] == text for i, text in zip(order, other.texts, strict=True)]))
    if first.vectors is None or other.vectors is None:
        return 0.0
    cosine = unit(first.vectors) @ unit(other.vectors).T
    cosine = np.where(np.isclose(cosine, 1, atol=1e-5), 1, cosine)
    return float(cosine[linear_sum_assignment(-cosine)].sum() / max(cosine.shape))


def identical(first: Guess, other: Guess | None) -> bool:
    """Byte for byte, confidence included."""
    if other is None:
        return False
    for name in ("ranking", "vectors", "confidence", "images"):
        one, two = getattr(first, name), getattr(other, name)
        if (one is None) != (two is None) or (
            one is not None and (one.dtype, one.tobytes()) != (two.dtype, two.tobytes())
        ):
            return False
    return first.texts == other.texts


def describe(guess: Guess) -> str:
    """Kind, shape and type of a guess, for a checklist."""
    for name in ("ranking", "vectors", "images"):
        array: Any = getattr(guess, name)
        if array is not None:
            return f"{name} {' × '.join(map(str, array.shape))} {array.dtype}"
    return f"{len(guess.texts or ())} texts"
