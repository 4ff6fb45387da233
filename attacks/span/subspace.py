"""The span of a layer's inputs, from the gradient of its weights, and who lies in it.

For a linear layer Y = X·Wᵀ the gradient is Dᵀ·X with D = ∂L/∂Y: its rows are combinations of the inputs' rows. Whatever
happens to the representation later, mixing, masks or noise, changes D and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
# A singular value that is so much smaller than the one before it ends the span.
DROP = 0.05
# Members stand apart from others by this factor in their distance to the span.
APART = 5.0
# Distances up to so many times what rounding makes of a member's.
ROUNDING = 30.0
# What single precision makes of a sentence's inputs by itself.
SINGLE = 1e-6


@dataclass(frozen=True)
class Span:
    """The row space of a gradient."""

    basis: Values
    """rank × inputs, orthonormal"""
    floor: float
    """the first singular value outside over the last one inside: how far rounding moves a member, about"""
    whole: bool
    """no drop among the singular values was found: the span has as many dimensions as the layer has outputs"""

    @property
    def rank(self) -> int:
        return len(self.basis)

    def distance(self, inputs: npt.NDArray[np.floating]) -> Values:
        """Of each row, the part of its length that is outside the span."""
        rows = np.asarray(inputs, dtype=np.float64)
        size = np.linalg.norm(rows, axis=1)
        # Not by Pythagoras: 1 - cos² of a member is lost in rounding.
        outside = rows - (rows @ self.basis.T) @ self.basis
        found: Values = np.linalg.norm(outside, axis=1) / np.maximum(size, np.finfo(float).tiny)
        return found

    def energy(self, inputs: npt.NDArray[np.floating]) -> Values:
        """Of each row, the share of its squared length that is inside."""
        rows = np.asarray(inputs, dtype=np.float64)
        inside = ((rows @ self.basis.T) ** 2).sum(axis=1)
        found: Values = inside / np.maximum((rows**2).sum(axis=1), np.finfo(float).tiny)
        return found


def span_of(gradient: npt.NDArray[np.floating]) -> Span:
    """The rank is where the singular values drop most; that of the last layer's is the size of the batch."""
    _, values, basis = np.linalg.svd(np.asarray(gradient, dtype=np.float64), full_matrices=False)
    values = np.maximum(values, np.finfo(float).tiny)
    drops = values[1:] / values[:-1]
    rank = int(np.argmin(drops)) + 1 if len(drops) else 1
    if not len(drops) or drops[rank - 1] > DROP:
        return Span(basis, 1.0, True)
    return Span(basis[:rank], float(drops[rank - 1]), False)


def members(distances: Values, most: int, floor: float) -> npt.NDArray[np.bool_]:
    """Who lies in a span: those nearest to it, up to the widest gap, at most `most` of them, if that gap is one and
    rounding explains what is below it. Nobody, if no gap is."""
    order = np.argsort(distances, kind="stable")
    near = np.log(np.maximum(distances[order], 1e-15))
    found = np.zeros(len(distances), dtype=bool)
    # Beyond the farthest a row could be, for batches all of whose candidates are members.
    gaps = np.diff(np.append(near, 0.0))[:most]
    if not len(gaps):
        return found
    count = int(np.argmax(gaps)) + 1
    if gaps[count - 1] > np.log(APART) and np.exp(near[count - 1]) <= ROUNDING * max(floor, SINGLE):
        found[order[:count]] = True
    return found
