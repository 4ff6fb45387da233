"""Utility of a defense: the papers' head, trained on its released encodings, judged by the task's own metric.

The encoder is frozen: texts are encoded once, and training sees vectors only. Every epoch sees a fresh release; the
mask pool is the same throughout. A tenth of the train set is held out and chooses the epoch to stop at. At inference
an example is not mixed and gets one mask of the pool, as in the authors' code. Memory is bounded by the releases of
all epochs together: n · epochs · d floats, at most LIMIT.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats
from bench.errors import BenchError, UsageError
from bench.experiment import setup, trained
from bench.system.seeds import generator
from bench.toolkit.corpus import Corpus
from bench.training.frozen import Training, fit, one_thread
from bench.training.judging import goodness, inference, judge, metrics_for, split
from bench.types import Examples, Key

if TYPE_CHECKING:
    from bench.experiment.cells import Trial
    from bench.records.model import UtilityRecord

LIMIT = 2 << 30
# In a record's `training`: the head is the defense's own.
OWN = "the defense's own"
# Or what learns is a convolutional net, as the encoder says.
NET = "a convolutional net"
# Encodings of a picture whose answers are averaged at inference, where that is asked for.
AVERAGED = 10


def execute(trial: Trial, about: UtilityRecord, *, device: str, stage: Callable[[str], None]) -> UtilityRecord:
    """One training run from end to end; `about` describes it. A failure is a record with its reason."""
    try:
        if trial.training:
            measured = measure_finetuned(trial, about, device=device, progress=stage)
        elif about.training.get("head") == OWN:
            measured = measure_learnt(trial, device=device, progress=stage)
        elif about.training.get("head") == NET:
            measured = measure_pictures(trial, device=device, progress=stage)
        else:
            measured = measure(trial, Training(**about.training), device=device, progress=stage)
    except OSError:
        raise  # the machine's fault, such as a full disk: the run must stop
    except Exception as error:
        reason = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        return about.replace(status="failed", error=reason)
    cost = about.cost.replace(train_s=measured.pop("seconds"))
    return about.replace(**measured, cost=cost)


def training_of(trial: Trial, head: Training) -> dict[str, Any]:
    """How the model of a trial is trained, as its record has it."""
    if trial.training:
        return trial.training.asked()
    if hasattr(trial.defense.plugin, "learn"):
        return {"head": OWN, "epochs": 1}
    if hasattr(trial.encoder.plugin, "net"):
        return {"head": NET, "epochs": trial.encoder.plugin.train_epochs}
    return dict(vars(head))


def measure_finetuned(
    trial: Trial, about: UtilityRecord, *, device: str, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Of an encoder that is trained through the defense: that very model, on dev."""
    model = trained.obtain(trial, about, device=device, progress=progress)
    return {
        "metrics": model.metrics,
        "majority": model.trained.majority,
        "held_out": model.held_out,
        "notes": model.trained.notes,
        "encoder": about.encoder.replace(checkpoint=model.encoder().plugin.fingerprint),
        "seconds": model.trained.seconds,
    }


def measure(cell: Trial, training: Training, *, device: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Train on the defense's releases of the train set, judge on dev."""
    train, fingerprint = setup.load(cell.dataset.plugin, "train")
    dev, _ = setup.load(cell.dataset.plugin, "dev")
    names = metrics_for(cell.dataset.info.metrics, train, dev)
    vectors = np.concatenate([setup.encode(cell, part, device, progress) for part in (train, dev)])
    public = setup.public_corpus(cell, device, progress)
    taught, held = split(train, training.held_out, generator(cell.seed, "held out", fingerprint))
    rng = generator(cell.seed, "utility", fingerprint, cell.defense.name, cell.defense.options)
    start = time.perf_counter()
    progress("releasing")
    pupils = train.take(taught)
    encodings, targets, key, notes = _released(cell.defense.plugin, vectors[taught], pupils, public, rng, training)
    # Vectors of the held-out examples and of dev, as they come at inference.
    asked = inference(cell.defense.plugin, np.concatenate([vectors[held], vectors[len(train) :]]), key, rng)
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


def measure_learnt(cell: Trial, *, device: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """With the head that a defense brings along (its method `learn`), which knows how it hides: train on one release of
    the whole train set, judge on clean vectors of dev. Nothing is chosen by looking at private data, so that no part of
    them is held out."""
    train, fingerprint = setup.load(cell.dataset.plugin, "train")
    dev, _ = setup.load(cell.dataset.plugin, "dev")
    names = metrics_for(cell.dataset.info.metrics, train, dev)
    vectors, asked = (setup.encode(cell, part, device, progress) for part in (train, dev))
    public = setup.public_corpus(cell, device, progress)
    rng = generator(cell.seed, "utility", fingerprint, cell.defense.name, cell.defense.options)
    start = time.perf_counter()
    progress("releasing")
    release, _ = cell.defense.plugin.release(vectors, train.targets(), public, rng, epochs=1)
    progress("training")
    with one_thread(device):
        answer = cell.defense.plugin.learn(
            np.asarray(release.encodings), np.asarray(release.labels), public, release.notes
        )
        scores = answer(asked)
    return {
        "metrics": judge(scores, dev, names),
        "majority": judge(np.repeat(train.targets().mean(axis=0)[None], len(dev), axis=0), dev, names),
        "notes": release.notes,
        "seconds": round(time.perf_counter() - start, 2),
    }


def measure_pictures(cell: Trial, *, device: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """With a convolutional net (encoder `convnet`), on fresh encodings of the whole train set in every epoch, of which
    one is held at a time; judged on dev. Nothing is chosen by looking, so that no part is held out."""
    from bench.training.convolutions import BATCH, fit

    train, fingerprint = setup.load(cell.dataset.plugin, "train")
    dev, _ = setup.load(cell.dataset.plugin, "dev")
    names = metrics_for(cell.dataset.info.metrics, train, dev)
    if not train.classes:
        raise UsageError("a convolutional net learns classes, and these pictures have none")
    vectors, asked = (setup.encode(cell, part, device, progress) for part in (train, dev))
    public = setup.public_corpus(cell, device, progress)
    rng = generator(cell.seed, "utility", fingerprint, cell.defense.name, cell.defense.options)
    options, scheme = cell.encoder.plugin, cell.defense.plugin
    start = time.perf_counter()

    def releases() -> Iterator[tuple[Floats, Floats]]:
        for epoch in range(options.train_epochs):
            progress(f"training, epoch {epoch + 1} of {options.train_epochs}")
            release, _ = scheme.release(vectors, train.targets(), public, rng, epochs=1)
            yield np.asarray(release.encodings, np.float32), np.asarray(release.labels, np.float32)

    with one_thread(device):
        answer = fit(
            releases(),
            train.shape,
            steps=options.train_epochs * -(-len(train) // BATCH),
            magnitudes=options.input == "abs",
            seed=cell.seed,
            device=device,
        )
        if options.inference == "plain":
            scores = answer(asked)
        else:
            scores = np.zeros((len(dev), len(dev.classes)), dtype=np.float32)
            for at in range(AVERAGED):
                progress(f"encoding dev, {at + 1} of {AVERAGED}")
                release, key = scheme.release(asked, dev.targets(), public, rng, epochs=1)
                np.add.at(scores, key.owner, answer(np.asarray(release.encodings, np.float32)))
    return {
        "metrics": judge(scores, dev, names),
        "majority": judge(np.repeat(train.targets().mean(axis=0)[None], len(dev), axis=0), dev, names),
        "seconds": round(time.perf_counter() - start, 2),
    }


def _released(
    defense: Any, vectors: Floats, train: Examples, public: Corpus | None, rng: np.random.Generator, training: Training
) -> tuple[Floats, Floats, Key, dict[str, Any]]:
    size = vectors.size * training.epochs * 4
    if size > LIMIT:
        most = LIMIT // (vectors.size * 4)
        raise UsageError(f"{training.epochs} epochs of releases need {size >> 20} MiB: lower --train-epochs to {most}")
    release, key = defense.release(vectors, train.targets(), public, rng, epochs=training.epochs)
    return np.asarray(release.encodings), np.asarray(release.labels), key, release.notes
