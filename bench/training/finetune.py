"""Fine-tunes an encoder through a defense, epoch by epoch, and judges it on held-out examples.

Deterministic on one thread, bit for bit. After every epoch the state is on disk, so that a killed run loses the epoch
that it was in and nothing else. Memory: the weights four times (gradient and two moments of AdamW), a batch's
activations, and at most bench.training.tokens.LIMIT of hidden states of the layers that do not learn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.encoders import packed
from bench.encoders.packed import Architecture, tokenizer_of
from bench.errors import BenchError, UsageError
from bench.plugins.training import Finetuned
from bench.system.seeds import generator
from bench.training import clients, state
from bench.training.clients import Exposure
from bench.training.frozen import one_thread
from bench.training.guarded import GuardedTrainer
from bench.training.judging import goodness, inference, judge, split
from bench.training.model import Model
from bench.training.rounds import Side, Trainer
from bench.training.tokens import Tokens
from bench.types import Examples

Progress = Callable[[str], None]
# Share of the training examples that chooses the epoch, as in TextHide's appendix B.3.
HELD_OUT = 0.1
# Seconds between two words on progress.
_OFTEN = 1.0


@dataclass(frozen=True)
class Job:
    """All that a training depends on."""

    options: Finetuned
    encoder: Any
    """a transformer: its folder, tokenizer and longest text"""
    train: Examples
    dev: Examples
    metrics: list[str]
    """of the task; the first chooses the epoch"""
    defense: Any
    defense_name: str
    public: list[str] | None
    seed: int
    words: tuple[Any, ...] = ()
    """what the randomness depends on besides the seed: fingerprint of the data, defense"""


@dataclass
class Course:
    """How a training went so far."""

    epoch: int = 0
    best: int = 0
    reached: tuple[float, ...] = (-math.inf,)
    curve: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0


class Diverged(BenchError):
    """The same run would diverge again."""


class Finetuning:
    """A training run. `folder` holds its state and its snapshots while it goes on."""

    def __init__(self, job: Job, device: str):
        self.job, self.device = job, device
        clients.check(job.defense, job.defense_name)
        options, train = job.options, job.train
        self.taught, self.held = rows_of(train, options, job.seed, job.words[:1])
        folder = getattr(job.encoder, "folder", None)
        if folder is None:
            raise UsageError(
                "this encoder has no folder of weights, so it cannot be trained: choose minilm, mpnet or "
                "another transformer, or --training frozen"
            )
        architecture = Architecture.read(folder)
        targets = train.targets()
        self.level, self.spread = 0.0, 1.0
        if not train.classes:
            known = targets[self.taught]
            self.level, self.spread = float(known.mean()), float(known.std()) or 1.0
            targets = (targets - np.float32(self.level)) / np.float32(self.spread)
        tokenizer, longest = tokenizer_of(folder), min(job.encoder.max_length, architecture.positions)
        weights = packed.load(folder, architecture)
        rng = generator(job.seed, "head", architecture.dim, targets.shape[1])
        self.model = Model(weights, architecture, options, targets.shape[1], rng, device)
        self.tokens, self.dev = (Tokens(tokenizer, part.texts, longest) for part in (train, job.dev))
        public = None if job.public is None else Tokens(tokenizer, job.public, longest)
        masks = clients.draw_masks(
            job.defense,
            architecture.dim,
            max(2, options.batch // options.clients),
            targets.shape[1],
            public is not None,
            generator(job.seed, "masks", *job.words),
        )
        parts = clients.shares(train, self.taught, options.clients, generator(job.seed, "clients", *job.words[:1]))
        side = Side(
            job.defense, job.defense_name, masks, parts, self.tokens, targets, public, Exposure.none(len(train))
        )
        kind = GuardedTrainer if hasattr(job.defense, "altered") else Trainer
        self.trainer = kind(self.model, side, options, bool(train.classes), job.seed, job.words)

    def run(self, folder: Path, keep: Iterable[int], progress: Progress) -> Course:
        """Train to the end, from where `folder` says that an earlier run stopped.

        Snapshots stay in the folder: of the epoch that counts and of the one before it, and those after `keep` steps.
        """
        wanted = set(keep)
        with one_thread(self.device):
            course = state.resume(folder, self.trainer) or Course()
            while course.epoch < self.job.options.epochs:
                self._epoch(course, folder, wanted, progress)
        return course

    def judged(self, progress: Progress) -> dict[str, float]:
        """The model as it is now, on dev."""
        progress("judging on dev")
        with one_thread(self.device):
            scores = self._answers(self.dev, np.arange(len(self.dev)))
        return judge(scores, self.job.dev, self.job.metrics)

    def majority(self) -> dict[str, float]:
        """What a constant answer reaches."""
        mean = self.job.train.take(self.taught).targets().mean(axis=0)
        return judge(np.repeat(mean[None], len(self.job.dev), axis=0), self.job.dev, self.job.metrics)

    def notes(self) -> dict[str, Any]:
        """What the defense says of its release, its ε over all that an example had a part in."""
        side = self.trainer.side
        return side.exposure.accounted(side.defense, self.trainer.notes, self.model.architecture.dim)

    def _epoch(self, course: Course, folder: Path, wanted: set[int], progress: Progress) -> None:
        trainer, epoch = self.trainer, course.epoch
        began = said = time.perf_counter()
        first, losses = epoch * trainer.per_epoch, []
        dealt = trainer.batches(epoch)
        local = self.job.options.local_steps
        for at in range(0, trainer.per_epoch, local):
            if local == 1:
                losses.append(trainer.step([part[at] for part in dealt], first + at))
            else:
                losses.append(trainer.round([part[at : at + local] for part in dealt], first + at))
            if not math.isfinite(losses[-1]):
                raise Diverged(
                    f"training diverged in epoch {epoch + 1} (loss {losses[-1]}): lower rate, or raise batch"
                )
            done = first + min(at + local, trainer.per_epoch)
            for step in wanted.intersection(range(done - local + 1, done + 1)):
                state.save_snapshot(folder, step, self.model)
            if time.perf_counter() - said > _OFTEN:
                said = time.perf_counter()
                left = (course.seconds + said - began) / done * (trainer.total - done)
                progress(
                    f"training, epoch {epoch + 1} of {self.job.options.epochs}, step {at + 1} of {trainer.per_epoch}, "
                    f"loss {np.mean(losses[-50:]):.3f}, {_duration(left)} left"
                )
        reached = self._held_out()
        course.epoch += 1
        course.seconds += time.perf_counter() - began
        row = {"epoch": course.epoch, "loss": float(np.mean(losses)), self.job.metrics[0]: reached[0]}
        course.curve.append({name: round(value, 6) for name, value in row.items()})
        if reached > course.reached:
            course.best, course.reached = course.epoch, reached
        state.save(folder, course, trainer, wanted)

    def _held_out(self) -> tuple[float, ...]:
        scores = self._answers(self.tokens, self.held)
        if not np.isfinite(scores).all():
            raise Diverged("training diverged (held-out answers are not finite): lower rate, or raise batch")
        return goodness(scores, self.job.train.take(self.held), self.job.metrics[0])

    def _answers(self, tokens: Tokens, rows: Ints) -> Floats:
        """Scores as at inference: not mixed, under one mask of the pool."""
        rng = generator(self.job.seed, "inference", len(rows), *self.job.words)
        asked = inference(self.job.defense, self.model.encode(tokens, rows), self.trainer.side.masks.key, rng)
        scores = self.model.scores(asked)
        return scores * np.float32(self.spread) + np.float32(self.level)


def rows_of(train: Examples, options: Finetuned, seed: int, words: tuple[Any, ...]) -> tuple[Ints, Ints]:
    """Rows of the train split that the clients train on, and rows that choose the epoch."""
    rows = np.arange(len(train))
    if options.examples > len(train):
        raise UsageError(f"examples={options.examples}: the train split has {len(train)}; 0 takes all of them")
    if options.examples:
        rows = np.sort(generator(seed, "training examples", *words).choice(rows, options.examples, replace=False))
    if len(rows) < 2:
        raise UsageError(f"examples={options.examples}: at least 2 are needed, one to learn from and one held out")
    taught, held = split(train.take(rows), HELD_OUT, generator(seed, "held out", *words))
    return rows[taught], rows[held]


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
