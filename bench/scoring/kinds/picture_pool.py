"""A pool of recovered pictures, in any number and order, from many encodings together.

Each private picture is given the one recovered picture that a one-to-one matching finds, least squared error in sum;
one without a partner counts as answered with black. Recovered pictures beyond the number of private ones count as
black answers, too: who hands in thousands does not win by it.
"""

from __future__ import annotations

import numpy as np

from bench.arrays import Floats
from bench.scoring.kinds.base import Scores, Values, combined, intervals, random_level
from bench.scoring.kinds.picture_similarity import candidates, nearest, squared_errors, ssim
from bench.scoring.metrics.pictures import ImageErrors, NamedImages
from bench.scoring.table import METRICS
from bench.scoring.truth import Truth

# Blind attackers, for the random level: each hands in as many candidates at random.
BLIND = 10


def score_pool(pool: Floats, truth: Truth, rng: np.random.Generator, bases: tuple[str, ...]) -> Scores:
    rng, chance = rng.spawn(2)
    images = truth.private.images
    assert images is not None
    n = len(images)
    known = candidates(truth)
    finite = np.asarray(np.isfinite(pool).all(axis=(1, 2, 3)))
    pool = np.where(finite[:, None, None, None], pool, np.float32(0))
    values, recovered = _matched(pool, truth, known, bases)
    table = [row for row in METRICS.of(*bases) if row.name in values]
    metrics = intervals(table, values, np.arange(max(len(pool), n)), rng)
    blind: dict[str, list[float]] = {}
    among = images if known is None else known
    for _ in range(BLIND):
        drawn = among[chance.choice(len(among), len(pool), replace=len(pool) > len(among))]
        for name, each in _matched(drawn, truth, known, bases)[0].items():
            blind.setdefault(name, []).append(float(each.mean()))
    items = {
        "example": truth.private.texts,
        "example_label": truth.private.labels,
        **{name: each[:n] for name, each in values.items()},
        "shape": [list(images.shape[1:])] * n,
        "original": list(images.reshape(n, -1)),
        "recovered": list(recovered.reshape(n, -1)),
    }
    facts = {
        "reconstructed": len(pool),
        "not_finite": int((~finite).sum()),
        **{f"median_{name}": float(np.median(values[name][:n])) for name in ("mse", "psnr", "ssim")},
    }
    return Scores(combined(metrics, random_level(blind)), items, facts, np.arange(n), METRICS.leak_of(*bases))


def _matched(
    pool: Floats, truth: Truth, known: Floats | None, bases: tuple[str, ...]
) -> tuple[dict[str, Values], Floats]:
    """Values of each private picture, then of each surplus one; and what stands for each private picture."""
    from scipy.optimize import linear_sum_assignment

    images = truth.private.images
    assert images is not None
    n, surplus = len(images), max(0, len(pool) - len(images))
    rows, columns = linear_sum_assignment(squared_errors(pool, images))
    found = np.zeros_like(images)
    found[columns] = pool[rows]
    error = ((found.astype(np.float64) - images) ** 2).mean(axis=(1, 2, 3))
    alike = ssim(found, images)
    black = float((images.astype(np.float64) ** 2).mean())
    answered = np.zeros(n, dtype=bool)
    answered[columns] = True
    errors = ImageErrors(error, None, answered, alike)
    wrong = ImageErrors(np.full(surplus, black), None, np.zeros(surplus, dtype=bool), np.zeros(surplus))
    given: dict[str, ImageErrors | NamedImages] = {"images": errors}
    if known is not None:
        own = nearest(images, known)  # a copy is as good
        right = answered & (known[nearest(found, known)] == known[own]).all(axis=(1, 2, 3))
        given["candidates"] = NamedImages(right)
    values: dict[str, Values] = {}
    for row in METRICS.of(*bases):
        if row.of not in given or row.name == "recall":  # of mixes; a pool belongs to none
            continue
        each = row.function(given[row.of])
        extra = row.function(wrong) if row.of == "images" else np.zeros(surplus)
        values[row.name] = np.concatenate([each, extra])
    return values, found
