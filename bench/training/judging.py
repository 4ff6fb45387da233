"""How a trained model is judged: the task's metrics, held-out examples, and questions as they come at inference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.errors import DataError
from bench.toolkit import mixing
from bench.types import Examples, Key

CLASSIFICATION = ("accuracy", "f1", "mcc")
REGRESSION = ("pearson", "spearman")


def metrics_for(names: tuple[str, ...], train: Examples, dev: Examples) -> list[str]:
    """The task's metrics that fit its labels; mistakes in the data are named before anything is trained."""
    kind = CLASSIFICATION if train.classes else REGRESSION
    if bool(train.classes) != bool(dev.classes):
        raise DataError("one of train and dev has classes and the other has scores: make their labels alike")
    if train.classes != dev.classes:
        raise DataError(f"train has the classes {', '.join(train.classes)}, dev has {', '.join(dev.classes)}")
    if train.classes:
        absent = np.setdiff1d(np.unique(dev.labels), np.unique(train.labels))
        if len(absent):
            raise DataError(f"class {train.classes[absent[0]]!r} is in dev but not in train: nothing can learn it")
        if len(np.unique(train.labels)) < 2:
            raise DataError("all train labels are the same: there is nothing to learn")
    chosen = [name for name in names if name in kind]
    return chosen or [kind[0]]


def judge(scores: Floats, dev: Examples, names: list[str]) -> dict[str, float]:
    """The task's metrics, by scikit-learn and scipy."""
    from scipy import stats
    from sklearn import metrics

    answer = scores.argmax(axis=1) if dev.classes else scores[:, 0]
    flat = bool(np.ptp(answer) == 0)  # a correlation with a constant is undefined; nothing was learnt, so 0
    average = "binary" if len(dev.classes) == 2 else "macro"
    call: dict[str, Any] = {
        "accuracy": lambda: metrics.accuracy_score(dev.labels, answer),
        "f1": lambda: metrics.f1_score(dev.labels, answer, average=average, zero_division=0.0),
        "mcc": lambda: metrics.matthews_corrcoef(dev.labels, answer),
        "pearson": lambda: 0.0 if flat else stats.pearsonr(answer, dev.labels).statistic,
        "spearman": lambda: 0.0 if flat else stats.spearmanr(answer, dev.labels).statistic,
    }
    return {name: float(call[name]()) for name in names}


def goodness(scores: Floats, held: Examples, metric: str) -> tuple[float, float]:
    """How well held-out examples are answered: by the task's metric, as the paper does, and then by their likelihood.

    On some hundred examples a metric moves in steps; the likelihood decides between equals.
    """
    reached = judge(scores, held, [metric])[metric]
    if not held.classes:
        return reached, -float(np.mean((scores[:, 0] - held.labels) ** 2))
    top = scores.max(axis=1, keepdims=True)
    likely = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
    return reached, float(np.take_along_axis(likely, held.labels[:, None], axis=1).mean())


def split(train: Examples, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows to train on, and rows that choose when to stop."""
    order = rng.permutation(len(train))
    count = min(max(1, round(share * len(train))), len(train) - 1)
    return np.sort(order[count:]), np.sort(order[:count])


def inference(defense: Any, vectors: Floats, key: Key, rng: np.random.Generator) -> Floats:
    if hasattr(defense, "inference"):
        vectors = defense.inference(vectors, key, rng)
    if key.pool is None:
        return vectors
    rows = np.arange(len(vectors))[:, None]
    mask, pool = rng.integers(0, len(key.pool), len(vectors)), key.pool
    if key.one_time:
        mask, pool = mixing.draw_masks(len(vectors), vectors.shape[1], "inf", rng)  # type: ignore[assignment]
    plain = Key(rows[:, 0], rows, np.ones(rows.shape, dtype=np.float32))
    masked: Floats = mixing.apply(vectors, replace(plain, mask=mask, pool=pool))
    return masked
