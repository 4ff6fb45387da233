"""Recovered images: success, mean squared error, PSNR, and curves over iterations.

An item belongs to one image, its owner. One guessed image is held against the owner. Several, guessed for a mix, are
matched one to one with the images of the mix so that the sum of errors is least, and the owner's partner counts: an
attacker who separates a mix cannot know which part of it the item "belongs" to. What is not a finite number counts as
failed, and as black where errors are averaged; it is never dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints
from bench.scoring.kinds.base import Expected, Kind, Scores, Values, combined, intervals, random_level
from bench.scoring.metrics import SUCCESS, ImageErrors
from bench.scoring.table import METRICS
from bench.scoring.truth import Truth
from bench.types import Guess, Key

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity

# Blind attackers, for the random level.
BLIND = 20
# Mean squared error, for pixels in [0, 1], up to which two images are the same answer.
ALIKE = 1e-3


BASES = ("images",)


def score(
    guess: Guess, truth: Truth, similarity: Similarity | None, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    rng, chance = rng.spawn(2)
    images, owner = truth.private.images, truth.key.owner
    assert images is not None
    guessed, finite = _finite(np.asarray(guess.images, dtype=np.float32))
    table = METRICS.of(*BASES)
    errors = _image_errors(guessed, finite, images, truth.key)
    values: dict[str, Values] = {row.name: row.function(errors) for row in table}
    metrics = intervals(table, values, owner, rng)
    # A blind attacker knows what such images look like: he returns some of the private ones.
    blind: dict[str, list[float]] = {row.name: [] for row in table}
    n, dummies = guessed.shape[:2]
    for _ in range(BLIND):
        drawn = chance.integers(0, len(images), (n, dummies))
        errors = _image_errors(images[drawn], np.ones(n, dtype=bool), images, truth.key)
        for row in table:
            blind[row.name].append(float(row.function(errors).mean()))
    closest = _errors(guessed, images, owner[:, None])[:, :, 0].argmin(1)
    items = {
        "example": [truth.private.texts[i] for i in owner],
        "example_label": truth.private.labels[owner],
        **values,
        "shape": [list(images.shape[1:])] * n,
        "original": list(images[owner].reshape(n, -1)),
        # Of several guesses for a mix the one most like the image that the item belongs to.
        "recovered": list(guessed[np.arange(n), closest].reshape(n, -1)),
    }
    facts: dict[str, Any] = {"not_finite": int((~finite).sum()), "median_mse": float(np.median(values["mse"]))}
    if guess.trail:
        facts["curves"] = _curves(guess.trail, values["success"], images, truth.key)
    return Scores(combined(metrics, random_level(blind)), items, facts, owner, METRICS.leak_of(*BASES))


class Images(Kind):
    name = "images"
    modality = "images"
    bases = BASES
    score = staticmethod(score)

    def check(self, guess: Guess, expected: Expected) -> str | None:
        shape, items, width = np.asarray(guess.images).shape, expected.items, expected.width
        if len(shape) != 5 or shape[0] != items or not 1 <= shape[1] <= width or shape[2:] != expected.shape:
            size = " × ".join(map(str, expected.shape))
            return f"the images have shape {shape}; expected {items} × dummies × {size}, at most {width} dummies"
        return None

    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        gap = np.asarray(first.images, np.float64)[order] - np.asarray(other.images)
        return float(((gap**2).mean(axis=(2, 3, 4)) <= ALIKE).mean())


def _finite(images: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    finite = np.asarray(np.isfinite(images).all(axis=(1, 2, 3, 4)))
    return np.nan_to_num(images, nan=0.0, posinf=0.0, neginf=0.0), finite


def _image_errors(guessed: Floats, finite: npt.NDArray[np.bool_], images: Floats, key: Key) -> ImageErrors:
    own, recovered = _matched(_errors(guessed, images, key.members), key)
    return ImageErrors(own, recovered, finite)


def _errors(guessed: Floats, images: Floats, members: Ints) -> Values:
    """Mean squared errors n × dummies × k, one member at a time: n images are held, not n · k."""
    found = np.empty((*guessed.shape[:2], members.shape[1]))
    for j, column in enumerate(members.T):
        gap = guessed.astype(np.float64) - images[column][:, None]
        found[:, :, j] = (gap**2).mean(axis=(2, 3, 4))
    return found


def _matched(error: Values, key: Key) -> tuple[Values, Values]:
    """The error of each item's own image, and the share of its different images that were recovered."""
    from scipy.optimize import linear_sum_assignment

    n, dummies, k = error.shape
    owned = np.argmax(key.members == key.owner[:, None], axis=1)
    mine = error[np.arange(n), 0, owned]
    if dummies > 1:
        # An image that a mix holds twice has one partner at least; the better one counts.
        for i in range(n):
            rows, columns = linear_sum_assignment(error[i])
            same = key.members[i, columns] == key.owner[i]
            mine[i] = error[i][rows[same], columns[same]].min() if same.any() else error[i][:, owned[i]].min()
    new = np.stack([~(key.members[:, :j] == key.members[:, [j]]).any(axis=1) for j in range(k)], axis=1)
    hit = (error.min(axis=1) <= SUCCESS) & new
    return mine, hit.sum(axis=1) / new.sum(axis=1)


def _curves(trail: dict[str, npt.NDArray[Any]], success: Values, images: Floats, key: Key) -> list[dict[str, Any]]:
    """For the first success and the first failure that left a trail: distance and errors over the iterations.

    The attack recorded its iterates; what they are worth is computed here, where the truth is known.
    """
    found = []
    rows = range(len(trail["images"]))
    for outcome in (1.0, 0.0):
        item = next((i for i in rows if success[i] == outcome), None)
        if item is None:
            continue
        # An attack that ended early, or in something that is no number, has no points after that.
        there = np.isfinite(trail["distance"][item])
        gap = trail["images"][item][there].astype(np.float64) - images[key.owner[item]]
        curve = {
            "item": item,
            "success": bool(outcome),
            "iteration": trail["steps"][there].tolist(),
            "distance": _plain(trail["distance"][item][there]),
            "input_error": _plain((gap**2).mean(axis=(2, 3, 4)).min(axis=1)),
        }
        if "masks" in trail and key.mask is not None and key.pool is not None:
            off = trail["masks"][item][there].astype(np.float64) - key.pool[key.mask[item]]
            curve["mask_error"] = _plain((off**2).mean(axis=1))
        found.append(curve)
    return found


def _plain(values: npt.NDArray[Any]) -> list[float]:
    """Four digits are enough for a curve."""
    return [float(f"{value:.4g}") for value in values]
