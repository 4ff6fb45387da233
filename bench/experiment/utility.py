"""Utility of a defense: the papers' head, trained on its released encodings, judged by the task's own metric.

The encoder is frozen: texts are encoded once, and training sees vectors only. Every epoch sees a fresh release; the
mask pool is the same throughout. A tenth of the train set is held out and chooses the epoch to stop at. At inference
an example is not mixed and gets one mask of the pool, as in the authors' code. Memory is bounded by the releases of
all epochs together: n · epochs · d floats, at most LIMIT.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.errors import BenchError, DataError, UsageError
from bench.experiment import setup
from bench.experiment.training import Training, fit, one_thread
from bench.system.seeds import generator
from bench.toolkit import mixing
from bench.toolkit.corpus import Corpus
from bench.types import Examples, Key

if TYPE_CHECKING:
    from bench.experiment.cells import Trial
    from bench.records.model import UtilityRecord

LIMIT = 2 << 30
CLASSIFICATION = ("accuracy", "f1", "mcc")
REGRESSION = ("pearson", "spearman")


def execute(trial: Trial, about: UtilityRecord, *, device: str, stage: Callable[[str], None]) -> UtilityRecord:
    """One training run from end to end; `about` describes it. A failure is a record with its reason."""
    try:
        measured = measure(trial, Training(**about.training), device=device, progress=stage)
    except OSError:
        raise  # the machine's fault, such as a full disk: the run must stop
    except Exception as error:
        reason = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        return about.replace(status="failed", error=reason)
    cost = about.cost.replace(train_s=measured.pop("seconds"))
    return about.replace(**measured, cost=cost)


def measure(cell: Trial, training: Training, *, device: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Train on the defense's releases of the train set, judge on dev."""
    train, fingerprint = setup.load(cell.dataset.plugin, "train")
    dev, _ = setup.load(cell.dataset.plugin, "dev")
    names = metrics_for(cell.dataset.info.metrics, train, dev)
    vectors = np.concatenate([setup.encode(cell, part, device, progress) for part in (train, dev)])
    public = setup.public_corpus(cell, device, progress)
    taught, held = _split(train, training.held_out, generator(cell.seed, "held out", fingerprint))
    rng = generator(cell.seed, "utility", fingerprint, cell.defense.name, cell.defense.options)
    start = time.perf_counter()
    progress("releasing")
    pupils = train.take(taught)
    encodings, targets, key, notes = _released(cell.defense.plugin, vectors[taught], pupils, public, rng, training)
    # Vectors of the held-out examples and of dev, as they come at inference.
    asked = _inference(cell.defense.plugin, np.concatenate([vectors[held], vectors[len(train) :]]), key, rng)
    judged = train.take(held)
    with one_thread(device):
        scores, epoch, reached = fit(
            encodings,
            targets,
            (asked[: len(held)], asked[len(held) :]),
            lambda answers: goodness(answers, judged, names[0]),
            classes=bool(train.classes),
            training=training,
            seed=cell.seed,
            device=device,
            progress=progress,
        )
    return {
        "metrics": judge(scores, dev, names),
        "majority": judge(np.repeat(pupils.targets().mean(axis=0)[None], len(dev), axis=0), dev, names),
        "held_out": {"epoch": epoch, names[0]: reached[0]},
        "notes": notes,
        "seconds": round(time.perf_counter() - start, 2),
    }


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


def _split(train: Examples, share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows to train on, and rows that choose when to stop."""
    order = rng.permutation(len(train))
    count = min(max(1, round(share * len(train))), len(train) - 1)
    return np.sort(order[count:]), np.sort(order[:count])


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


def _released(
    defense: Any, vectors: Floats, train: Examples, public: Corpus | None, rng: np.random.Generator, training: Training
) -> tuple[Floats, Floats, Key, dict[str, Any]]:
    size = vectors.size * training.epochs * 4
    if size > LIMIT:
        most = LIMIT // (vectors.size * 4)
        raise UsageError(f"{training.epochs} epochs of releases need {size >> 20} MiB: lower --train-epochs to {most}")
    release, key = defense.release(vectors, train.targets(), public, rng, epochs=training.epochs)
    return np.asarray(release.encodings), np.asarray(release.labels), key, release.notes


def _inference(defense: Any, vectors: Floats, key: Key, rng: np.random.Generator) -> Floats:
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
