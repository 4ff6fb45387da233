"""What pictures are compared by: structural similarity, and the candidates that one may be taken for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints
from bench.scoring.truth import Truth

Values = npt.NDArray[np.float64]
# scikit-image's defaults (0.26): a uniform window of 7 × 7, sample covariance, these two constants; pixels in [0, 1].
WINDOW, K1, K2 = 7, 0.01, 0.03
# Pictures compared at a time: some arrays of 256 × 3072 doubles, 6 MiB each.
BLOCK = 256
# Root mean squared error up to which vectors are taken to be pixels, shifted and scaled by channel.
AFFINE = 1e-3


def ssim(first: Floats, second: Floats) -> Values:
    """Mean structural similarity of n pairs of pictures, n × channels × height × width, over windows and channels."""
    from scipy.ndimage import uniform_filter

    # A window that fits the picture, with a middle.
    window = min(WINDOW, *(side - 1 + side % 2 for side in first.shape[2:]))
    size = (0, 0, window, window)
    edge = window // 2
    count = window * window
    sample = count / (count - 1) if count > 1 else 1.0
    found = np.empty(len(first))
    for at in range(0, len(first), BLOCK):
        x, y = (part[at : at + BLOCK].astype(np.float64) for part in (first, second))
        mean_x, mean_y = uniform_filter(x, size), uniform_filter(y, size)
        var_x = sample * (uniform_filter(x * x, size) - mean_x**2)
        var_y = sample * (uniform_filter(y * y, size) - mean_y**2)
        both = sample * (uniform_filter(x * y, size) - mean_x * mean_y)
        above = (2 * mean_x * mean_y + K1**2) * (2 * both + K2**2)
        below = (mean_x**2 + mean_y**2 + K1**2) * (var_x + var_y + K2**2)
        inner = slice(edge, x.shape[2] - edge), slice(edge, x.shape[3] - edge)
        found[at : at + BLOCK] = (above / below)[:, :, *inner].mean(axis=(1, 2, 3))
    return found


def candidates(truth: Truth) -> Floats | None:
    """The corpus as pictures, where vectors are pixels, each channel shifted and scaled; else None.

    Shift and scale are read off the private pictures and their vectors.
    """
    images = truth.private.images
    assert images is not None
    channels = images.shape[1]
    if truth.vectors.shape[1] != images[0].size or not len(truth.corpus.vectors):
        return None
    vectors = truth.vectors.reshape(images.shape).astype(np.float64)
    found = np.empty((len(truth.corpus.vectors), *images.shape[1:]), dtype=np.float32)
    for c in range(channels):
        x, y = vectors[:, c].ravel(), images[:, c].ravel().astype(np.float64)
        spread = float(((x - x.mean()) ** 2).mean())
        scale = float(((x - x.mean()) * (y - y.mean())).mean()) / spread if spread > 0 else 0.0
        shift = float(y.mean() - scale * x.mean())
        if np.sqrt(((scale * x + shift - y) ** 2).mean()) > AFFINE:
            return None
        found[:, c] = truth.corpus.vectors.reshape(-1, *images.shape[1:])[:, c] * scale + shift
    return found


def nearest(pictures: Floats, among: Floats) -> Ints:
    """The row of `among` with the least squared distance to each picture."""
    flat, known = pictures.reshape(len(pictures), -1), among.reshape(len(among), -1)
    norms = np.einsum("ij,ij->i", known, known)
    rows = [np.argmin(norms - 2 * (flat[at : at + BLOCK] @ known.T), axis=1) for at in range(0, len(flat), BLOCK)]
    return np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)


def squared_errors(first: Floats, second: Floats) -> Values:
    """Mean squared error of every pair: rows of `first` by rows of `second`."""
    x, y = (part.reshape(len(part), -1).astype(np.float64) for part in (first, second))
    squares = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y) - 2 * x @ y.T
    errors: Values = np.maximum(squares, 0) / x.shape[1]
    return errors
