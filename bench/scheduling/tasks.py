"""The kinds of work that a scheduler hands out: an attack on a cell, a training run that measures utility, an audit.

A task is pickled as a `PickledTask`, its description in plain values: a plugin that was loaded from a file cannot be
pickled, and a worker on another machine has to make the plugins itself anyway.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from bench.errors import BenchError
from bench.experiment import audit, identity, utility
from bench.experiment.cells import Cell, Trial
from bench.experiment.execute import Result, Scenes, Stage, execute, release_of
from bench.isolation.process import Limits
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, AuditRecord, AuditSizes, Record, UtilityRecord
from bench.scoring import per_example
from bench.training.frozen import Training

R = TypeVar("R", bound=Record, covariant=True)


@dataclass(frozen=True)
class Environment:
    """What a task is executed with; none of it changes a number."""

    device: str
    limits: Limits
    stage: Stage
    scenes: Scenes
    """the release of the task before, which this one may attack, too"""
    details: bool = False
    """every question with its answers is wanted"""


class Task(ABC, Generic[R]):
    """What a scheduler has to know of a piece of work."""

    noun = "tasks"

    @property
    @abstractmethod
    def about(self) -> R:
        """The record before anything was measured; BenchError where data or weights are missing."""

    @property
    @abstractmethod
    def subject(self) -> Trial:
        """The cell that is attacked, or the trial that is trained or audited."""

    @property
    @abstractmethod
    def title(self) -> str: ...

    @property
    @abstractmethod
    def group(self) -> str:
        """Equal for tasks that share an intermediate result, and are best run one after the other by one worker."""

    @abstractmethod
    def execute(self, environment: Environment) -> Result: ...

    @abstractmethod
    def answered_by(self, record: Record) -> bool:
        """Whether a stored record of the same id holds all that this task is to keep."""


@dataclass(frozen=True)
class AttackTask(Task[AttackRecord]):
    """An attack on a cell."""

    cell: Cell
    noun = "cells"

    @cached_property
    def about(self) -> AttackRecord:
        return identity.describe(self.cell)

    @property
    def subject(self) -> Trial:
        return self.cell

    @property
    def title(self) -> str:
        return self.cell.title

    @property
    def group(self) -> str:
        return release_of(self.about)

    def execute(self, environment: Environment) -> Result:
        return execute(
            self.cell,
            self.about,
            device=environment.device,
            limits=environment.limits,
            stage=environment.stage,
            scenes=environment.scenes,
            details=environment.details,
        )

    def answered_by(self, record: Record) -> bool:
        return isinstance(record, AttackRecord) and per_example.enough(record, self.cell)

    def __reduce__(self) -> tuple[Any, ...]:
        return PickledTask, (self.about, {"samples": self.cell.samples, "answers": self.cell.answers})


@dataclass(frozen=True)
class TrainingTask(Task[UtilityRecord]):
    """A training run on the releases of a defense: of a head or, if the trial says so, of the encoder along with it."""

    trial: Trial
    head: Training = field(default_factory=Training)
    """how the head is trained on frozen vectors"""
    noun = "training runs"

    @cached_property
    def about(self) -> UtilityRecord:
        return identity.describe_utility(self.trial, utility.training_of(self.trial, self.head))

    @property
    def subject(self) -> Trial:
        return self.trial

    @property
    def title(self) -> str:
        return f"{self.trial.title} utility"

    @property
    def group(self) -> str:
        return self.about.id  # each trains on releases of its own; vectors are shared through the cache

    def execute(self, environment: Environment) -> Result:
        return Result(utility.execute(self.trial, self.about, device=environment.device, stage=environment.stage))

    def answered_by(self, record: Record) -> bool:
        return isinstance(record, UtilityRecord)

    def __reduce__(self) -> tuple[Any, ...]:
        return PickledTask, (self.about, {})


@dataclass(frozen=True)
class AuditTask(Task[AuditRecord]):
    """An experiment that bounds a defense's ε from below."""

    trial: Trial
    sizes: AuditSizes
    noun = "audits"

    @cached_property
    def about(self) -> AuditRecord:
        return identity.describe_audit(self.trial, self.sizes)

    @property
    def subject(self) -> Trial:
        return self.trial

    @property
    def title(self) -> str:
        return f"{self.trial.title} audit ({self.sizes.game})"

    @property
    def group(self) -> str:
        return self.about.id

    def execute(self, environment: Environment) -> Result:
        return Result(audit.execute(self.trial, self.about, device=environment.device, stage=environment.stage))

    def answered_by(self, record: Record) -> bool:
        return isinstance(record, AuditRecord)

    def __reduce__(self) -> tuple[Any, ...]:
        return PickledTask, (self.about, {})


@dataclass(frozen=True)
class PickledTask:
    """A task as it travels to a worker."""

    about: Record
    kept: dict[str, Any]
    """what the cell's suite wants kept in the record"""

    def restored(self, registry: Registry) -> Task[Record]:
        """The task, if it is the same here: this worker may have other code, data or weights."""
        task: Task[Record]
        if isinstance(self.about, AttackRecord):
            task = AttackTask(replace(identity.cell_of(registry, self.about), **self.kept))
        elif isinstance(self.about, UtilityRecord):
            trial = identity.trial_of(registry, self.about)
            papers = not trial.training and "head" not in self.about.training
            task = TrainingTask(trial, Training(**self.about.training)) if papers else TrainingTask(trial)
        elif isinstance(self.about, AuditRecord):
            task = AuditTask(identity.trial_of(registry, self.about), self.about.protocol)
        found = task.about
        if (found.id, found.code) != (self.about.id, self.about.code):
            what = "other code" if found.id == self.about.id else f"another cell ({found.id})"
            raise BenchError(
                f"worker {socket.gethostname()} would run {what} than was asked for ({self.about.id}, {task.title}): "
                "give it the same hideseek, plugins, data and weights as the machine that started the run"
            )
        return task


def noun(tasks: Sequence[Task[Record]]) -> str:
    """What to call these tasks in a message."""
    nouns = {task.noun for task in tasks}
    return nouns.pop() if len(nouns) == 1 else Task.noun
