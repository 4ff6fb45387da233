"""Differences of neighbouring pixels: what a sign mask hardly touches.

Neighbours mostly share a sign before the mask, so that ||y_p| − |y_q|| is |z_p − z_q| wherever they do. Differences of
different pictures are also nearly uncorrelated, which pixels, dominated by large smooth areas, are not.
"""

from __future__ import annotations

import numpy as np

from bench import Floats

Shape = tuple[int, int, int]
# The share of plain pixels in the metric: enough to tell two pictures apart that differ in brightness alone.
LEVEL = 0.05
# Values held at a time: 16 Mi floats are 64 MiB.
BLOCK = 1 << 24


def difference_magnitudes(values: Floats, shape: Shape) -> Floats:
    """n × d, pixels or their magnitudes → n × (down and across), absolute differences of neighbours."""
    pictures = values.reshape(-1, *shape)
    n, (c, h, w) = len(pictures), shape
    down = c * (h - 1) * w
    found: Floats = np.empty((n, down + c * h * (w - 1)), dtype=np.float32)
    step = max(1, BLOCK // max(1, found.shape[1]))
    for at in range(0, n, step):
        block, out = pictures[at : at + step], found[at : at + step]
        out[:, :down] = np.abs(np.diff(block, axis=2)).reshape(len(block), -1)
        out[:, down:] = np.abs(np.diff(block, axis=3)).reshape(len(block), -1)
    return found


def sharpened(values: Floats, shape: Shape) -> Floats:
    """M·v for each row v, where ⟨v, M·v⟩ is the sum of squared differences of neighbours, plus a share of plain pixels.

    The inner product in which pictures are compared: M is the Laplacian of the pixel grid.
    """
    pictures = values.reshape(-1, *shape)
    found: Floats = np.float32(LEVEL) * pictures
    down, across = np.diff(pictures, axis=2), np.diff(pictures, axis=3)
    found[:, :, 1:] += down
    found[:, :, :-1] -= down
    found[:, :, :, 1:] += across
    found[:, :, :, :-1] -= across
    return found.reshape(values.shape)


def unit_rows(values: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays one."""
    length = np.linalg.norm(values, axis=1, keepdims=True)
    rows: Floats = values / np.maximum(length, np.finfo(np.float32).tiny)
    return rows
