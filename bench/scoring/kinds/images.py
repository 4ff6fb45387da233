"""Recovered images: success, mean squared error, PSNR, SSIM, identity, and curves over iterations.

A guess holds images for each item (five dimensions), or a pool of them for all items together (four), which is scored
in bench.scoring.kinds.picture_pool.

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
from bench.scoring.kinds.picture_pool import score_pool
from bench.scoring.kinds.picture_similarity import candidates, nearest
from bench.scoring.kinds.picture_similarity import ssim as similarity_of
from bench.scoring.metrics.pictures import SUCCESS, ImageErrors, NamedImages
from bench.scoring.table import METRICS
from bench.scoring.truth import Truth
from bench.types import Guess, Key

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity

# Blind attackers, for the random level.
BLIND = 20
# Mean squared error, for pixels in [0, 1], up to which two images are the same answer.
ALIKE = 1e-3
# Dimensions of a pool of images.
POOLED = 4


# More pictures than this for each released item are no guess.
SURPLUS = 20
# The error that stands for the image of a public slot, which nobody is asked to recover.
ABSENT = 1e9
# Items compared at a time: 256 items of 8 images of 3072 doubles take 50 MiB.
BLOCK = 256

BASES = ("images", "candidates")


def score(
    guess: Guess, truth: Truth, similarity: Similarity | None, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    if np.asarray(guess.images).ndim == POOLED:
        return score_pool(np.asarray(guess.images, dtype=np.float32), truth, rng, BASES)
    rng, chance = rng.spawn(2)
    images, owner = truth.private.images, truth.key.owner
    assert images is not None
    guessed, finite = _finite(np.asarray(guess.images, dtype=np.float32))
    known = candidates(truth)
    table = [row for row in METRICS.of(*BASES) if row.of == "images" or known is not None]
    own = None if known is None else nearest(images, known)
    n, dummies = guessed.shape[:2]
    item = np.arange(n)
    errors, dummy = _compared(guessed, finite, truth)
    given: dict[str, Any] = {"images": errors}
    if known is not None and own is not None:
        right = _same(known, nearest(guessed[item, dummy], known), own[owner])
        given["candidates"] = NamedImages(right & finite)
    values: dict[str, Values] = {row.name: row.function(given[row.of]) for row in table}
    metrics = intervals(table, values, owner, rng)
    # A blind attacker knows what such images look like: he returns some of the private ones.
    blind: dict[str, list[float]] = {row.name: [] for row in table}
    for _ in range(BLIND):
        drawn = chance.integers(0, len(images), (n, dummies))
        errors, dummy = _compared(images[drawn], np.ones(n, dtype=bool), truth)
        given = {"images": errors}
        if known is not None and own is not None:
            given["candidates"] = NamedImages(_same(known, own[drawn[item, dummy]], own[owner]))
        for row in table:
            blind[row.name].append(float(row.function(given[row.of]).mean()))
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
    if dummies == 1 and known is not None:
        facts["challenge"] = _challenge(guessed[:, 0], images, truth.key)
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
        if len(shape) == POOLED and shape[1:] == expected.shape:
            most = SURPLUS * items
            return None if 1 <= shape[0] <= most else f"{shape[0]} images in all; expected 1 to {most}"
        if len(shape) != 5 or shape[0] != items or not 1 <= shape[1] <= width or shape[2:] != expected.shape:
            size = " × ".join(map(str, expected.shape))
            return (
                f"the images have shape {shape}; expected {items} × dummies × {size}, at most {width} dummies, "
                f"or a pool of any number × {size}"
            )
        return None

    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        if np.asarray(first.images).ndim == POOLED:
            return _pools_agree(np.asarray(first.images), np.asarray(other.images))
        gap = np.asarray(first.images, np.float64)[order] - np.asarray(other.images)
        return float(((gap**2).mean(axis=(2, 3, 4)) <= ALIKE).mean())


def _finite(images: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    finite = np.asarray(np.isfinite(images).all(axis=(1, 2, 3, 4)))
    return np.nan_to_num(images, nan=0.0, posinf=0.0, neginf=0.0), finite


def _compared(guessed: Floats, finite: npt.NDArray[np.bool_], truth: Truth) -> tuple[ImageErrors, Ints]:
    """Errors of each item's own image, and which of the guesses for the item is held against it."""
    images, key = truth.private.images, truth.key
    assert images is not None
    own, recovered, dummy = _matched(_errors(guessed, images, key.members), key)
    mine = guessed[np.arange(len(guessed)), dummy]
    return ImageErrors(own, recovered, finite, similarity_of(mine, images[key.owner])), dummy


def _same(known: Floats, first: Ints, second: Ints) -> npt.NDArray[np.bool_]:
    """Whether two rows hold the same picture: a copy is as good."""
    same: npt.NDArray[np.bool_] = (known[first] == known[second]).all(axis=(1, 2, 3))
    return same


def _challenge(guessed: Floats, images: Floats, key: Key) -> dict[str, float]:
    """The four numbers of the InstaHide challenge: an image for each encoding is held against the private images in
    it; best and mean of these, then the mean over encodings. L2 is the mean squared difference of pixels in [-1, 1]."""
    private = key.members >= 0
    alike, apart = np.full(key.members.shape, np.nan), np.full(key.members.shape, np.nan)
    for j in np.flatnonzero(private.any(axis=0)):
        rows = np.flatnonzero(private[:, j])
        member = images[key.members[rows, j]]
        alike[rows, j] = similarity_of(guessed[rows], member)
        apart[rows, j] = 4 * ((guessed[rows].astype(np.float64) - member) ** 2).mean(axis=(1, 2, 3))
    return {
        "max_ssim": float(np.nanmax(alike, axis=1).mean()),
        "mean_ssim": float(np.nanmean(alike, axis=1).mean()),
        "min_l2": float(np.nanmin(apart, axis=1).mean()),
        "mean_l2": float(np.nanmean(apart, axis=1).mean()),
    }


def _pools_agree(first: Floats, other: Floats) -> float:
    """The share of pictures in both, matched one to one."""
    from scipy.optimize import linear_sum_assignment

    from bench.scoring.kinds.picture_similarity import squared_errors

    error = squared_errors(first, other)
    return float((error[linear_sum_assignment(error)] <= ALIKE).sum() / max(error.shape))


def _errors(guessed: Floats, images: Floats, members: Ints) -> Values:
    """Mean squared errors n × dummies × k, some items and one member at a time."""
    found = np.empty((*guessed.shape[:2], members.shape[1]))
    for at in range(0, len(guessed), BLOCK):
        rows = slice(at, at + BLOCK)
        block = guessed[rows].astype(np.float64)
        for j, column in enumerate(members[rows].T):
            error = ((block - images[column][:, None]) ** 2).mean(axis=(2, 3, 4))
            found[rows, :, j] = np.where(column[:, None] < 0, ABSENT, error)
    return found


def _matched(error: Values, key: Key) -> tuple[Values, Values, Ints]:
    """The error of each item's own image, the share of its different private images that were recovered, and the
    guess that stands for its own."""
    from scipy.optimize import linear_sum_assignment

    n, dummies, k = error.shape
    owned = np.argmax(key.members == key.owner[:, None], axis=1)
    mine, dummy = error[np.arange(n), 0, owned], np.zeros(n, dtype=np.int64)
    if dummies > 1:
        # An image that a mix holds twice has one partner at least; the better one counts.
        for i in range(n):
            rows, columns = linear_sum_assignment(error[i])
            same = key.members[i, columns] == key.owner[i]
            partners = rows[same] if same.any() else np.arange(dummies)
            dummy[i] = partners[np.argmin(error[i][partners, owned[i]])]
            mine[i] = error[i][dummy[i], owned[i]]
    new = np.stack([~(key.members[:, :j] == key.members[:, [j]]).any(axis=1) for j in range(k)], axis=1)
    new &= key.members >= 0
    hit = (error.min(axis=1) <= SUCCESS) & new
    return mine, hit.sum(axis=1) / new.sum(axis=1), dummy


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
