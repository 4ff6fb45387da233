"""Point and label released as one: their product, so that ε is spent once and nothing is said of the label by itself.

Every class is a corner of a regular simplex around 0 (two classes: +1 and -1; a score: its place between its bounds),
and what is released is the outer product of point and corner, plus noise. Its mean is what a linear head needs of the
two, their covariance. A randomised label beside the point would have to be undone by a factor, on top of noise for a
smaller ε: at a total ε of 1 the mean of a class is then known with 65 times the variance
(docs/release-once.md).

In crowds, a server sees sums only (by secure aggregation, which is assumed, not played), every client adds its share of
the noise, and ε holds for the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench import Floats, Ints, UsageError
from bench.defenses.release_once.frame import Frame, Wide
from bench.defenses.release_once.heads import shrunk

Flags = npt.NDArray[np.bool_]

# A constant coordinate, in units of the clip bound, whose product with the corner tells the shares of the classes.
CONSTANT = 0.2
# One crowd of so many releases its points without their labels: the centre between classes comes from these.
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


@dataclass(frozen=True)
class Crowds:
    """Which examples are summed before anything is seen of them; one by one, each is a crowd of its own."""

    members: Ints
    """crowds × size of the largest; a smaller one repeats its first member"""
    weights: Floats
    """of each member in the mean, 0 where it is repeated"""

    @property
    def alone(self) -> Flags:
        """Which release their points without labels. That depends on a crowd's number, not on what is in it."""
        found: Flags = np.arange(len(self.members)) % ALONE == ALONE - 1
        return found

    @property
    def sizes(self) -> Ints:
        found: Ints = (self.weights > 0).sum(axis=1)
        return found

    @classmethod
    def drawn(cls, examples: int, size: int, rng: np.random.Generator, shuffled: bool = False) -> Crowds:
        """At random, of `size` at least, which is what each client's share of the noise counts on."""
        if examples < size:
            raise UsageError(
                f"release-once: crowd={size} needs as many examples, and there are {examples}: lower crowd"
            )
        order = rng.permutation(examples) if shuffled or size > 1 else np.arange(examples)
        if size == 1:
            return cls(order[:, None], np.ones((examples, 1), dtype=np.float32))
        # Sorted, so that the first of a crowd's members, who counts as its owner, does not depend on the order.
        parts = [np.sort(part) for part in np.array_split(order, examples // size)]
        largest = max(map(len, parts))
        members = np.stack([np.concatenate([part, np.repeat(part[:1], largest - len(part))]) for part in parts])
        weights = np.stack([np.arange(largest) < len(part) for part in parts]) / np.array([[len(p)] for p in parts])
        return cls(members, weights.astype(np.float32))


def products(points: Wide, corner: Wide, bound: float, crowds: Crowds) -> Wide:
    """The means of what crowds release but for noise, crowds × width. What an example adds to the sum is no longer than
    `bound`, as no point is, nor any corner longer than 1; so replacing it moves the sum by twice that at most."""
    reach = np.hstack([points, np.full((len(points), 1), CONSTANT * bound)]) / np.hypot(1, CONSTANT)
    rows = (corner[:, :, None] * reach[:, None, :]).reshape(len(points), -1)
    alone = crowds.members[crowds.alone].ravel()
    rows[alone] = 0
    rows[alone, : points.shape[1]] = points[alone]
    found: Wide = np.einsum("cm,cmw->cw", crowds.weights.astype(np.float64), rows[crowds.members])
    return found


def moments(
    frame: Frame, rows: Wide, labelled: Floats, sigma: float, crowd: int
) -> tuple[Wide, Wide, Wide, float, float]:
    """Out of what was released: the mean of corner × point, the mean corner and the mean point, the latter two shrunk
    by what noise alone would make of them; and the variances of a coordinate of the first and the last. `sigma` is that
    of a row's noise."""
    directions = len(frame.axes)
    stretch = np.hypot(1, CONSTANT)
    some = rows[labelled > 0]
    mean = (some.mean(axis=0) * stretch).reshape(-1, directions + 1)
    spread = float(np.trace(frame.covariance)) / directions / crowd
    variance = (spread + (sigma * stretch) ** 2) / len(some)
    corner = mean[:, -1] / (CONSTANT * frame.bound)
    corner *= _trust(corner, (sigma * stretch / (CONSTANT * frame.bound)) ** 2 / len(some))
    alone = rows[labelled == 0, :directions]
    if not len(alone):
        return mean[:, :-1], corner, np.zeros(directions), variance, 0.0
    centre, level = alone.mean(axis=0), (spread + sigma**2) / len(alone)
    trust = _trust(centre, level)
    return mean[:, :-1], corner, centre * trust, variance, level * trust


def discriminant(
    frame: Frame, rows: Wide, labelled: Floats, sigma: float, crowd: int, classes: int
) -> Callable[[Floats], Floats]:
    """Linear discriminant analysis; the covariance within classes is the public corpus's."""
    product, corner, centre, variance, level = moments(frame, rows, labelled, sigma, crowd)
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
    frame: Frame, rows: Wide, labelled: Floats, sigma: float, crowd: int, low: float, high: float
) -> Callable[[Floats], Floats]:
    """Ridge regression of scores between the bounds."""
    product, corner, centre, variance, level = moments(frame, rows, labelled, sigma, crowd)
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
