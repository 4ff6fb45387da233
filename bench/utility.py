"""What a defense costs in accuracy: the papers' head, trained on released encodings, judged by the task's own metric.

The encoder is frozen: texts are encoded once, and training sees vectors only. Every epoch sees a fresh release; the
mask pool is the same throughout. At inference an example is not mixed and gets one mask of the pool, as in the
authors' code. Memory is bounded by the releases of all epochs together: n · epochs · d floats, at most LIMIT.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import mixing, scene, victims
from .errors import DataError, UsageError
from .seeds import generator
from .types import Corpus, Examples, Floats, Key

if TYPE_CHECKING:
    from .plan import Trial

LIMIT = 2 << 30
CLASSIFICATION = ("accuracy", "f1", "mcc")
REGRESSION = ("pearson", "spearman")


@dataclass(frozen=True)
class Training:
    """Fixed for all defenses, so that what differs is the defense."""

    epochs: int = 20
    batch: int = 256
    rate: float = 1e-3
    warmup: float = 0.1
    dropout: float = 0.1
    layers: int = 3
    shared: bool = False
    """one hidden layer applied three times, as the authors' code does"""


def measure(cell: Trial, training: Training, *, device: str, progress: scene.Progress) -> dict[str, Any]:
    """Train on the defense's releases of the train set, judge on dev."""
    train, fingerprint = scene.load(cell.dataset.plugin, "train")
    dev, _ = scene.load(cell.dataset.plugin, "dev")
    names = metrics_for(cell.dataset.info.metrics, train, dev)
    vectors = np.concatenate([scene.encode(cell, part, device, progress) for part in (train, dev)])
    public = scene.public_corpus(cell, device, progress)
    rng = generator(cell.seed, "utility", fingerprint, cell.defense.name, cell.defense.options)
    start = time.perf_counter()
    progress("releasing")
    encodings, targets, key, notes = _released(cell.defense.plugin, vectors[: len(train)], train, public, rng, training)
    questions = _inference(cell.defense.plugin, vectors[len(train) :], key, rng)
    scores = _fit(encodings, targets, questions, len(train), bool(train.classes), training, cell.seed, device, progress)
    values = judge(scores, dev, names)
    seconds = round(time.perf_counter() - start, 2)
    return {"metrics": values, "notes": notes, "seconds": seconds}


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


def _fit(
    encodings: Floats,
    targets: Floats,
    questions: Floats,
    n: int,
    classes: bool,
    training: Training,
    seed: int,
    device: str,
    progress: scene.Progress,
) -> Floats:
    """Scores for the questions, from a head trained on the released encodings in the order they came."""
    import torch
    from torch import nn

    # Standardised per coordinate by the release itself: what every client can do, and no fairer to one defense.
    mean, spread = encodings.mean(axis=0), encodings.std(axis=0)
    spread[spread < 1e-6] = 1
    level, range_ = (0.0, 1.0) if classes else (float(targets.mean()), float(targets.std()) or 1.0)
    torch.manual_seed(seed)
    size = (encodings.shape[1], targets.shape[1], training.layers)
    head = victims.head(*size, dropout=training.dropout, shared=training.shared).to(device)
    steps = -(-len(encodings) // training.batch)
    optimizer = torch.optim.AdamW(head.parameters(), lr=training.rate)
    warm = max(1, int(training.warmup * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
    )
    loss_of = nn.CrossEntropyLoss() if classes else nn.MSELoss()  # cross-entropy takes mixed labels as they are
    head.train()
    for step in range(steps):
        rows = slice(step * training.batch, (step + 1) * training.batch)
        x = torch.as_tensor((encodings[rows] - mean) / spread, device=device)
        y = torch.as_tensor((targets[rows] - level) / range_, device=device, dtype=x.dtype)
        optimizer.zero_grad(set_to_none=True)
        loss_of(head(x), y).backward()
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            progress(f"training, epoch {1 + step * training.batch // n} of {training.epochs}")
    head.eval()
    with torch.inference_mode():
        out = head(torch.as_tensor((questions - mean) / spread, device=device))
    scores: Floats = out.cpu().numpy() * range_ + level
    return scores
