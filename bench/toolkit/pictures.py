"""Pictures as rows of pixels: their shape, and the channel statistics that image classifiers subtract."""

from __future__ import annotations

import math

from bench.errors import DataError

# Mean and spread of each channel over the train set, as InstaHide's authors set them (table 3 of the paper).
STATISTICS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    "mnist": ((0.1307,), (0.3081,)),
    "none": ((0.0,), (1.0,)),
}


def shape_of(width: int) -> tuple[int, int, int]:
    """Channels, height and width of the square picture, grey or in colour, that has so many values.

    Never in doubt: no square is three times another one.
    """
    for channels in (1, 3):
        side = math.isqrt(width // channels)
        if side and channels * side * side == width:
            return channels, side, side
    raise DataError(f"{width} values are no square picture, neither grey nor in colour: take --encoder pixels")
