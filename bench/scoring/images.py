"""Scores recovered pictures against the private ones: success, mean squared error, PSNR, and curves over iterations.

An item belongs to one picture, its owner. One guessed picture is held against the owner. Several, guessed for a mix,
are matched one to one with the pictures of the mix so that the sum of errors is least, and the owner's partner counts:
an attacker who separates a mix cannot know which part of it the item "belongs" to. `recall` is the share of the
different pictures of a mix that were recovered. What is not a finite number counts as failed, and as black where errors
are averaged; it is never dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from bench.arrays import Floats, Ints
from bench.scoring.intervals import mean_interval
from bench.scoring.text import Scores
from bench.scoring.truth import Truth
from bench.types import Guess, Key

# TextHide, section 4.3: an attack succeeds if the mean squared error is at most this, for pixels in [0, 1].
SUCCESS = 1e-3
# The least error that PSNR tells from none at all: 80 dB.
LEAST = 1e-8
# Blind attackers, for the random level.
BLIND = 20
METRICS = ("recall", "success", "mse", "psnr")

Values = npt.NDArray[np.float64]


def score(guess: Guess, truth: Truth, rng: np.random.Generator) -> Scores:
    rng, chance = rng.spawn(2)
    images, owner = truth.private.images, truth.key.owner
    assert images is not None
    assert guess.images is not None
    pictures, whole = _finite(np.asarray(guess.images, dtype=np.float32))
    values = _judge(pictures, whole, images, truth.key)
    metrics = {}
    for name in METRICS:
        mean, low, high = mean_interval(values[name], owner, rng)
        metrics[name] = {"value": mean, "low": low, "high": high}
    # A blind attacker knows what such pictures look like: he returns some of the private ones.
    blind: dict[str, list[float]] = {name: [] for name in METRICS}
    n, dummies = pictures.shape[:2]
    for _ in range(BLIND):
        drawn = chance.integers(0, len(images), (n, dummies))
        for name, value in _judge(images[drawn], np.ones(n, dtype=bool), images, truth.key).items():
            blind[name].append(float(value.mean()))
    for name in METRICS:
        means = blind[name]
        metrics[name] |= {"random": float(np.mean(means)), "random_low": min(means), "random_high": max(means)}
    closest = _errors(pictures, images, owner[:, None])[:, :, 0].argmin(1)
    items = {
        "example": [truth.private.texts[i] for i in owner],
        "example_label": truth.private.labels[owner],
        **{name: values[name] for name in METRICS},
        "shape": [list(images.shape[1:])] * n,
        "original": list(images[owner].reshape(n, -1)),
        # Of several guesses for a mix the one most like the picture that the item belongs to.
        "recovered": list(pictures[np.arange(n), closest].reshape(n, -1)),
    }
    facts: dict[str, Any] = {"not_finite": int((~whole).sum()), "median_mse": float(np.median(values["mse"]))}
    if guess.trail:
        facts["curves"] = _curves(guess.trail, values["success"], images, truth.key)
    return Scores(metrics, items, facts)


def _finite(pictures: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    whole = np.asarray(np.isfinite(pictures).all(axis=(1, 2, 3, 4)))
    return np.nan_to_num(pictures, nan=0.0, posinf=0.0, neginf=0.0), whole


def _judge(pictures: Floats, whole: npt.NDArray[np.bool_], images: Floats, key: Key) -> dict[str, Values]:
    error = _errors(pictures, images, key.members)
    mine, hit = _matched(error, key)
    success = (mine <= SUCCESS) & whole
    return {
        "recall": np.where(whole, hit, 0.0),
        "success": success.astype(np.float64),
        "mse": mine,
        "psnr": -10 * np.log10(np.maximum(mine, LEAST)),
    }


def _errors(pictures: Floats, images: Floats, members: Ints) -> Values:
    """Mean squared errors n × dummies × k, one member at a time: n pictures are held, not n · k."""
    found = np.empty((*pictures.shape[:2], members.shape[1]))
    for j, column in enumerate(members.T):
        gap = pictures.astype(np.float64) - images[column][:, None]
        found[:, :, j] = (gap**2).mean(axis=(2, 3, 4))
    return found


def _matched(error: Values, key: Key) -> tuple[Values, Values]:
    """The error of each item's own picture, and the share of its different pictures that were recovered."""
    n, dummies, k = error.shape
    owned = np.argmax(key.members == key.owner[:, None], axis=1)
    mine = error[np.arange(n), 0, owned]
    if dummies > 1:
        # A picture that a mix holds twice has one partner at least; the better one counts.
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
