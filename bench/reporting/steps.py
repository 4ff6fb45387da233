"""The steps of a report, from a TOML file (recommended.toml): tasks that answer one question, and what they take."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bench.board.utility import UNDEFENDED
from bench.errors import DataError, UsageError
from bench.experiment import cells as names
from bench.experiment import setup
from bench.experiment.audit import sizes_of
from bench.experiment.cells import AXES, SIZES, Chosen, Trial
from bench.experiment.suite_file import AttackTable, AuditTable, TrainingTable
from bench.experiment.suites import AUDIT_SIZES
from bench.plugins.registry import Registry
from bench.records.model import Record
from bench.scheduling.tasks import AttackTask, AuditTask, Task, TrainingTask
from bench.system.files import read_text
from bench.system.validation import explain

RECOMMENDED = Path(__file__).parent / "recommended.toml"
# Rows below which a tenth that is held out says nothing of accuracy, and a list of candidates is no list.
LEAST_ROWS = 100
# Classes that have fewer rows than this on average cannot be learnt: the label is a name or a number of each row.
ROWS_OF_A_CLASS = 4
# The public corpus of data that name none, which is like nobody's.
STAND_IN = "demo"
# Private examples are at most this share of the rows, so that candidates are not all private.
PRIVATE_SHARE = 4


class _Cost(BaseModel):
    """What a step may take, in texts that could have been encoded meanwhile."""

    title: str
    texts: Annotated[float, Field(ge=0)] = 0
    per_row: Annotated[float, Field(ge=0)] = 0
    model_config = ConfigDict(frozen=True, extra="forbid")


class AttackStep(_Cost, AttackTable):
    kind: Literal["attack"]


class UtilityStep(_Cost, TrainingTable):
    kind: Literal["utility"]


class AuditStep(_Cost, AuditTable):
    kind: Literal["audit"]


class _Recipe(BaseModel):
    steps: list[Annotated[AttackStep | UtilityStep | AuditStep, Field(discriminator="kind")]] = Field(min_length=1)
    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Step:
    """Tasks that answer one question of the report."""

    title: str
    tasks: Sequence[Task[Record]]
    texts: float
    """texts that could be encoded while it runs, by the recipe"""


@dataclass(frozen=True)
class Subject:
    """Whose data are reported on."""

    registry: Registry
    dataset: str
    encoder: str
    public: str | None = None
    """None: the data set's own, or STAND_IN where it names none"""
    seed: int = 0

    def trial(self) -> Trial:
        """The data without a defense; UsageError where a name or an option is wrong."""
        return names.trials(self.registry, {**self.axes(), "defense": [UNDEFENDED]})[0]

    @property
    def public_corpus(self) -> str:
        """The name of the corpus that is taken, the same as `bench run` and `bench utility` would take."""
        return self.public or self.trial().dataset.info.public or STAND_IN

    def axes(self) -> dict[str, list[Any]]:
        return {"dataset": [self.dataset], "encoder": [self.encoder], "seed": [self.seed]}


def rows_of(dataset: Chosen) -> int:
    """Examples of the train split; DataError where there are too few, or none held out to judge accuracy on."""
    if "text" not in dataset.info.on:
        raise UsageError(f"data set {dataset.name!r} holds {dataset.info.on[0]}: a report is on texts with labels")
    train = setup.load(dataset.plugin, "train")[0]
    if len(train) < LEAST_ROWS:
        raise DataError(f"{dataset.label} has {len(train)} rows to train on: a report needs at least {LEAST_ROWS}")
    used = [int(number) for number in np.unique(train.labels)] if train.classes else []
    if len(used) == 1:
        raise DataError(f"{dataset.label} has one class, {train.classes[used[0]]!r}: there is nothing to learn")
    if len(used) > len(train) / ROWS_OF_A_CLASS:
        raise DataError(
            f"{dataset.label} has {len(used)} classes in {len(train)} rows: is the label another column (label=COLUMN)?"
        )
    setup.load(dataset.plugin, "dev")
    return len(train)


def read(path: Path, subject: Subject, rows: int) -> list[Step]:
    """The steps that a file names, on these data. Names and options are checked; nothing heavy is loaded."""
    found = []
    for step in _recipe(path).steps:
        try:
            tasks = _tasks(step, subject, rows)
        except UsageError as error:
            raise UsageError(f"{path.name}, {step.title!r}: {error}") from error
        found.append(Step(step.title, tasks, step.texts + step.per_row * rows))
    return found


def _tasks(step: AttackStep | UtilityStep | AuditStep, subject: Subject, rows: int) -> Sequence[Task[Record]]:
    given = {name: value for name, value in step.given().items() if value is not None}
    axes = {**{axis: given.get(axis) for axis in AXES}, **subject.axes()}
    if isinstance(step, AttackStep):
        sizes: dict[str, Any] = {size: given.get(size) for size in SIZES} | {"public": subject.public_corpus}
        if step.examples is not None:
            examples = min(step.examples, rows // PRIVATE_SHARE)
            if step.batch is not None:  # updates are full, of however few
                sizes["batch"] = min(step.batch, examples)
                examples -= examples % sizes["batch"]
            sizes["examples"] = examples
        some = names.cells(subject.registry, axes, sizes)
        return [AttackTask(replace(cell, fixed_size=False)) for cell in some]
    trials = names.trials(subject.registry, axes, public=subject.public_corpus)
    if isinstance(step, UtilityStep):
        return [TrainingTask(trial) for trial in trials]
    few = {size: given[size] for size in AUDIT_SIZES if size in given}
    return [AuditTask(t, sizes_of(t.defense.plugin, game, **few)) for t in trials for game in step.game]


def _recipe(path: Path) -> _Recipe:
    try:
        return _Recipe.model_validate(tomllib.loads(read_text(path)))
    except ValidationError as error:
        raise UsageError(f"{path}: {explain(error)}") from error
    except (ValueError, OSError) as error:
        raise UsageError(f"{path}: no recipe of a report ({error})") from error
