"""Point and label released as one: their product, so that ε is spent once and nothing is said of the label by itself.

Every class is a corner of a regular simplex around 0 (two classes: +1 and -1; a score: its place between its bounds),
and what is released is the outer product of point and corner, plus noise. Its mean is what a linear head needs of the
two, their covariance. A randomised label beside the point would have to be undone by a factor, on top of noise for a
smaller ε: at a total ε of 1 the mean of a class is then known with some sixty times the variance
(docs/release-once.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench import Floats
from bench.defenses.release_once.frame import Frame, Wide
from bench.defenses.release_once.heads import shrunk

# A constant coordinate, in units of the clip bound, whose product with the corner tells the shares of the classes.
CONSTANT = 0.2
# Every so many examples one releases its point alone, whatever its label: the centre between classes comes from these.
ALONE = 10


def corners(classes: int) -> Wide:
    """classes × (classes - 1) of length 1; one column of scores has itself."""
    if classes == 1:
        return np.ones((1, 1))
    axes, lengths, _ = np.linalg.svd(np.eye(classes) - 1 / classes)
    found: Wide = axes[:, :-1] * lengths[:-1]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def width(directions: int, classes: int) -> int:
    """Dimensions of what is released."""
    return (directions + 1) * max(1, classes - 1)


def products(points: Wide, corner: Wide, bound: float) -> tuple[Wide, Floats]:
    """What is released but for noise, n × width, and whether a row has a label in it, n. No row is longer than `bound`,
    as no point is, nor any corner longer than 1; so replacing an example moves its row by twice that at most."""
    reach = np.hstack([points, np.full((len(points), 1), CONSTANT * bound)]) / np.hypot(1, CONSTANT)
    found = (corner[:, :, None] * reach[:, None, :]).reshape(len(points), -1)
    alone = np.arange(len(points)) % ALONE == ALONE - 1
    found[alone] = 0
    found[alone, : points.shape[1]] = points[alone]
    return found, np.where(alone, 0, 1).astype(np.float32)


def moments(frame: Frame, rows: Wide, labelled: Floats, sigma: float) -> tuple[Wide, Wide, Wide, float, float]:
    """Out of what was released: the mean of corner × point, the mean corner and the mean point, the latter two shrunk
    by what noise alone would make of them; and the variances of a coordinate of the first and the last."""
    directions = len(frame.axes)
    stretch = np.hypot(1, CONSTANT)
    some = rows[labelled > 0]
    mean = (some.mean(axis=0) * stretch).reshape(-1, directions + 1)
    spread = float(np.trace(frame.covariance)) / directions
    variance = (spread + (sigma * stretch) ** 2) / len(some)
    corner = mean[:, -1] / (CONSTANT * frame.bound)
    corner *= _trust(corner, (sigma * stretch / (CONSTANT * frame.bound)) ** 2 / len(some))
    alone = rows[labelled == 0, :directions]
    if not len(alone):
        return mean[:, :-1], corner, np.zeros(directions), variance, 0.0
    centre, level = alone.mean(axis=0), (spread + sigma**2) / len(alone)
    trust = _trust(centre, level)
    return mean[:, :-1], corner, centre * trust, variance, level * trust


def discriminant(frame: Frame, rows: Wide, labelled: Floats, sigma: float, classes: int) -> Callable[[Floats], Floats]:
    """Linear discriminant analysis; the covariance within classes is the public corpus's."""
    product, corner, centre, variance, level = moments(frame, rows, labelled, sigma)
    places = corners(classes)
    scale = (classes - 1) / classes
    # 1{class c} = 1/classes + scale · ⟨corner, corner of c⟩, for the corners of a simplex.
    share = np.maximum(1 / classes + scale * places @ corner, 0.1 / classes)
    share /= share.sum()
    means = (centre / classes + scale * places @ product) / share[:, None] - centre
    noise = (variance * scale**2 + level / classes**2) / share**2
    weights = np.stack([shrunk(frame.covariance, mean, float(each)) for mean, each in zip(means, noise, strict=True)])
    offset = -0.5 * np.einsum("cr,rs,cs->c", weights, frame.covariance, weights)

    def scores(vectors: Floats) -> Floats:
        found: Floats = ((frame.points(vectors) - centre) @ weights.T + offset).astype(np.float32)
        return found

    return scores


def regression(
    frame: Frame, rows: Wide, labelled: Floats, sigma: float, low: float, high: float
) -> Callable[[Floats], Floats]:
    """Ridge regression of scores between the bounds."""
    product, corner, centre, variance, level = moments(frame, rows, labelled, sigma)
    along = product[0] - corner[0] * centre
    weights = shrunk(frame.covariance, along, variance + corner[0] ** 2 * level)

    def answer(vectors: Floats) -> Floats:
        place = corner[0] + (frame.points(vectors) - centre) @ weights
        found: Floats = (low + (high - low) * (place + 1) / 2).astype(np.float32)[:, None]
        return found

    return answer


def _trust(mean: Wide, variance: float) -> float:
    """What of a mean noise does not explain (James and Stein's factor)."""
    return max(0.0, 1 - len(mean) * variance / max(float(mean @ mean), 1e-300))
