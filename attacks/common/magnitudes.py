"""Magnitudes made comparable: a mask changes signs only, so absolute values still tell sentences apart once centred."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import Floats

# The encodings' own mean counts for as much as this many of them: the mean of a single one would leave nothing of it.
FEW = 4


def own_mean(total: Any, count: int, reference: Any) -> Any:
    """The mean of `count` encodings whose sum is `total` (NumPy or torch), drawn a little towards the corpus's mean.

    Averaging shrinks magnitudes, so mixes have a smaller mean than sentences; what is left after centring by the wrong
    one is common to all encodings and drowns what tells them apart.
    """
    return (total + FEW * reference) / (count + FEW)


def standardised(encodings: Floats, corpus: Floats, *, mixed: bool) -> tuple[Floats, Floats]:
    """Magnitudes of both sides minus their means, in units of the corpus's spread on each coordinate.

    `mixed`: the encodings are mixes, and are centred by a mean of their own.
    """
    encodings, corpus = np.abs(encodings), np.abs(corpus)
    mean = corpus.mean(axis=0, dtype=np.float64)
    spread = corpus.std(axis=0, dtype=np.float64)
    varies = spread > 1e-5 * spread.max(initial=0.0)
    scale = np.where(varies, 1 / np.where(varies, spread, 1), 0)
    centre = own_mean(encodings.sum(axis=0, dtype=np.float64), len(encodings), mean) if mixed else mean
    return ((encodings - centre) * scale).astype(np.float32), ((corpus - mean) * scale).astype(np.float32)
