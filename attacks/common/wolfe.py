"""The strong-Wolfe line search of torch.optim.LBFGS for one problem, as a conversation.

A generator asks for the loss and gradient at one step size after another, so that whoever runs many searches can
evaluate all that is asked for in one batch. The arithmetic is torch's (after Mark Schmidt's minFunc).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

# Sufficient decrease and curvature: torch's.
DECREASE, CURVATURE = 1e-4, 0.9


@dataclass
class _Point:
    t: float
    loss: float
    gradient: Any
    slope: float


def search(
    t: float, loss: float, gradient: Any, slope: float, longest: float, tolerance: float, most: int
) -> Generator[float, tuple[float, Any, float], tuple[float, Any, float]]:
    """Yields step sizes, is sent (loss, gradient, slope) there, returns (loss, gradient, step size)."""
    start = _Point(0.0, loss, gradient, slope)

    def low_enough(point: _Point) -> bool:
        return not point.loss > loss + DECREASE * point.t * slope

    previous, rounds = start, 0
    new = _Point(t, *(yield t))
    bracket: list[_Point] | None = None
    while rounds < most:
        if not low_enough(new) or (rounds > 1 and new.loss >= previous.loss):
            bracket = [previous, new]
            break
        if abs(new.slope) <= -CURVATURE * slope:
            return new.loss, new.gradient, new.t
        if new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = (new.t + 0.01 * (new.t - previous.t), new.t * 10)
        t = _cubic(previous, new, bounds)
        previous = new
        new = _Point(t, *(yield t))
        rounds += 1
    if bracket is None:
        bracket = [start, new]
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    stuck = done = False
    while not done and rounds < most:
        left, right = sorted(point.t for point in bracket)
        if (right - left) * longest < tolerance:
            break
        t = _cubic(bracket[0], bracket[1])
        edge = 0.1 * (right - left)
        if min(right - t, t - left) < edge:
            if stuck or t >= right or t <= left:
                t = right - edge if abs(t - right) < abs(t - left) else left + edge
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        new = _Point(t, *(yield t))
        rounds += 1
        if not low_enough(new) or new.loss >= bracket[low].loss:
            bracket[high] = new
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            done = abs(new.slope) <= -CURVATURE * slope
            if not done and new.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
    found = bracket[low]
    return found.loss, found.gradient, found.t


def _cubic(a: _Point, b: _Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is lowest, inside the bounds."""
    left, right = bounds if bounds else (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if square >= 0:
        d2 = math.sqrt(square)
        if a.t <= b.t:
            best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
        else:
            best = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
        return min(max(best, left), right)
    return (left + right) / 2
