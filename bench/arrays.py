"""The arrays that travel along a run, and how a pair of sentences is one string."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

PAIR = "\t"
"""Joins the two sentences of a pair: one string per example everywhere, which encoders split again."""
