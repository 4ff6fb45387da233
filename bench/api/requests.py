"""What can be asked for: the arguments of `bench.run`, `bench.utility` and `bench.audit`, as on the command line.

A request checks what it can without loading anything, and turns names into cells and settings.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.api.objects import name_plugin
from bench.errors import UsageError, unknown
from bench.plugins.options import split
from bench.plugins.registry import Registry
from bench.plugins.training import parse

if TYPE_CHECKING:
    from bench.experiment.cells import Cell, Trial
    from bench.records.model import Record
    from bench.scheduling.settings import RunSettings
    from bench.scheduling.tasks import AttackTask, AuditTask, Task, TrainingTask

Name = str | Any
"""`name:option=value,...` as on the command line, or a plugin object such as `MyAttack()`"""
Names = Name | Iterable[Name] | None
PathLike = str | os.PathLike[str]

GAMES = ("pair", "canaries", "updates")
# A third of a year, and a pebibyte: what is beyond was mistyped, and no clock or limit of the system can hold it.
LONGEST_S, MOST_MIB = 10_000_000, 1 << 30


@dataclass(frozen=True, kw_only=True)
class Request(ABC):
    """What attacks and training have in common. None stands for the default that `bench run --help` names."""

    defense: Names = None
    dataset: Names = None
    encoder: Names = None
    training: str | Iterable[str] | None = None
    """frozen, or finetuned:option=value,...: whether the encoder is trained through the defense"""
    seed: int | Iterable[int] | None = None
    suite: PathLike | None = None
    """a TOML file, or the name of a suite of the project; it names its own cells"""
    out: PathLike = "results"
    """the folder of the records: what is there already is not run again"""
    jobs: int | None = None
    """processes of this machine that run cells: short for executor="local://N" """
    executor: str | None = None
    """where cells run: local://N or dask://HOST:PORT"""
    force: bool = False
    """run again what is on record"""
    device: str = "auto"
    plugins: Iterable[PathLike] = ()
    """Python files with plugins"""
    progress: bool = True

    @cached_property
    def registry(self) -> Registry:
        """Plugins by name: those of this machine, of `plugins`, and of the objects that were passed."""
        return Registry(self._names[1])

    @property
    def folder(self) -> Path:
        return Path(self.out)

    def axes(self) -> dict[str, list[Any] | None]:
        """The names on each axis; None where nothing was given."""
        return {**self._names[0], "training": listed(self.training), "seed": listed(self.seed)}

    @cached_property
    def _names(self) -> tuple[dict[str, list[Any] | None], tuple[str, ...]]:
        """The names on each axis, and the files of all plugins that are not installed."""
        files = [os.fspath(path) for path in listed(self.plugins) or []]
        names: dict[str, list[Any] | None] = {}
        for axis in self._axes:
            found = [name_plugin(part, axis, files, self.folder) for part in listed(getattr(self, axis)) or []]
            names[axis] = [name for name, _ in found] or None
            files += [file for _, file in found if file and file not in files]
        return names, tuple(files)

    @property
    def _axes(self) -> tuple[str, ...]:
        return ("dataset", "encoder", "defense")

    def check(self) -> None:
        """What can be wrong with the numbers; names are checked when they are looked up."""
        from bench.scheduling import executors

        executors.create(self._executor_url())

    @abstractmethod
    def tasks(self) -> Sequence[Task[Record]]:
        """What is to be run, every name and option of which has been checked."""

    def settings(self) -> RunSettings:
        from bench.scheduling.settings import RunSettings
        from bench.system.device import resolve

        return RunSettings(
            out=self.folder,
            device=resolve(self.device),
            executor=self._executor_url(),
            files=self.registry.files,
            force=self.force,
        )

    def _executor_url(self) -> str:
        from bench.scheduling import executors

        if self.executor and self.jobs is not None:
            raise UsageError("--executor has workers of its own: leave out --jobs")
        return self.executor or executors.for_jobs(1 if self.jobs is None else self.jobs)

    def _alone(self, given: Iterable[str], what: str) -> None:
        """A suite leaves nothing to be named."""
        for name in given:
            raise UsageError(f"--suite names its own {what}: leave out --{name}, or the suite")


@dataclass(frozen=True, kw_only=True)
class AttackRequest(Request):
    """Every defense against every attack."""

    attack: Names = None
    examples: int | None = None
    epochs: int | None = None
    candidates: int | None = None
    coverage: float | None = None
    split: str | None = None
    batch: int | None = None
    """sentences in an update, where updates are attacked"""
    update: str | None = None
    """how an update is made: share=top:2,precision=bf16,dropout=0.1,steps=4 (bench.plugins.rounds.Update)"""
    public: str | None = None
    attacker: str | None = None
    """which weights of a trained encoder the attacker holds: current, stale (an epoch older) or initial"""
    timeout: float = 3600
    memory: int = 8192
    sealed: bool = False
    details: bool = False
    utility: bool = False
    verbose: bool = False
    """show what attacks print"""

    @property
    def _axes(self) -> tuple[str, ...]:
        return (*super()._axes, "attack")

    def given(self) -> list[str]:
        """Axes and sizes that were named."""
        return [name for name, value in {**self.axes(), **self.sizes()}.items() if value is not None]

    def sizes(self) -> dict[str, Any]:
        from bench.experiment.cells import SIZES

        return {size: getattr(self, size) for size in SIZES}

    def check(self) -> None:
        super().check()
        if not 0 < self.timeout <= LONGEST_S:
            raise UsageError(f"--timeout {self.timeout}: seconds above 0 and up to {LONGEST_S:,} were expected")
        if not 0 <= self.memory <= MOST_MIB:
            raise UsageError(f"--memory {self.memory}: MiB from 0 (no limit) to {MOST_MIB:,} were expected")
        if self.public:  # also where no cell wants one, and nobody would look it up
            self.registry.get("dataset", split(self.public)[0])

    def cells(self) -> list[Cell]:
        """The cells, every name and option of which has been checked."""
        from bench.experiment import suites
        from bench.experiment.cells import cells
        from bench.isolation.sandbox import require

        self.check()
        if self.sealed:
            require()
        if self.suite is None:
            return cells(self.registry, self.axes(), self.sizes(), sealed=self.sealed)
        self._alone(self.given(), "cells")
        found = suites.from_suite(self.registry, os.fspath(self.suite), sealed=self.sealed)
        if any(cell.sealed for cell in found):
            require()
        return found

    def tasks(self) -> Sequence[AttackTask]:
        from bench.scheduling.tasks import AttackTask

        return [AttackTask(cell) for cell in self.cells()]

    def settings(self) -> RunSettings:
        from bench.isolation.process import Limits

        limits = Limits(self.timeout, self.memory, verbose=self.verbose)
        return replace(super().settings(), limits=limits, details=self.details, utility=self.utility)


@dataclass(frozen=True, kw_only=True)
class UtilityRequest(Request):
    """Every defense, and the undefended figure beside it."""

    train_epochs: int | None = None
    shared_layer: bool = False

    def trials(self) -> list[tuple[Trial, int | None]]:
        """Trials with the epochs to train them for, where the suite says so; every name and option has been checked."""
        from bench.experiment import suites
        from bench.experiment.cells import trials

        self.check()
        if self.suite is None:
            axes = self.axes()
            axes["defense"] = list(dict.fromkeys(["none", *(axes["defense"] or [])]))
            found: list[tuple[Trial, int | None]] = [(trial, None) for trial in trials(self.registry, axes)]
        else:
            self._alone([name for name, value in self.axes().items() if value is not None], "trials")
            found = suites.trials_from_suite(self.registry, os.fspath(self.suite))
        for trial, _ in found:
            if trial.training is None and hasattr(trial.defense.plugin, "altered"):
                how = 'training = "finetuned" to its table' if self.suite else "--training finetuned"
                raise UsageError(f"{trial.defense.label} defends what an encoder learns: add {how}")
        return found

    def tasks(self) -> Sequence[TrainingTask]:
        trials = self.trials()
        from bench.scheduling.tasks import TrainingTask
        from bench.training.frozen import Training

        if (self.train_epochs or self.shared_layer) and any(hasattr(t.encoder.plugin, "net") for t, _ in trials):
            raise UsageError("--train-epochs and --shared-layer are for heads of vectors: write convnet:train_epochs=N")
        return [
            TrainingTask(
                trial, Training(epochs=self.train_epochs or epochs or Training.epochs, shared=self.shared_layer)
            )
            for trial, epochs in trials
        ]

    def check(self) -> None:
        super().check()
        if self.train_epochs is not None and self.train_epochs < 1:
            raise UsageError(f"--train-epochs {self.train_epochs}: at least 1")
        if (self.train_epochs or self.shared_layer) and any(parse(spec) for spec in listed(self.training) or []):
            raise UsageError(
                "--train-epochs and --shared-layer are for frozen encoders: write --training "
                "finetuned:epochs=N,head=tanh-shared"
            )


@dataclass(frozen=True, kw_only=True)
class AuditRequest(Request):
    """Every defense, put to one game or both."""

    game: str | Iterable[str] | None = None
    """pair, canaries, updates; by default the first two, and for a defense of updates the last"""
    examples: int | None = None
    """examples of each of two neighbouring data sets or batches; by default as many as the defense mixes"""
    canaries: int | None = None
    """canaries of the one run; 1,000 by default"""
    epochs: int | None = None
    """encodings of each example, 50 by default; of updates, rounds, by default those that the defense accounts for"""
    trials: int | None = None
    """runs of each of two neighbouring data sets; 20,000 by default, of updates of a defense that mixes 1,000 or 300"""
    delta: float | None = None
    """for defenses that claim no ε; 1e-5 by default. A claim has a δ of its own"""
    public: str | None = None

    def tasks(self) -> Sequence[AuditTask]:
        from bench.experiment import suites
        from bench.experiment.cells import trials

        self.check()
        games = listed(self.game)
        if self.suite is not None:
            named = {**self.axes(), "game": self.game, **self._sizes()}
            self._alone([name for name, value in named.items() if value is not None], "audits")
            wanted = suites.audits_from_suite(self.registry, os.fspath(self.suite))
        else:
            some = trials(self.registry, self.axes(), public=self.public or "")
            wanted = [
                (trial, {"game": game, **self._sizes()})
                for trial in some
                for game in games or _games(trial.defense.plugin)
            ]
        from bench.experiment.audit import sizes_of
        from bench.scheduling.tasks import AuditTask

        return [AuditTask(trial, sizes_of(trial.defense.plugin, **sizes)) for trial, sizes in wanted]

    def _sizes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("examples", "canaries", "epochs", "trials", "delta")}

    def check(self) -> None:
        super().check()
        for game in listed(self.game) or []:
            if game not in GAMES:
                raise unknown("game", str(game), GAMES)
        if any(parse(spec) for spec in listed(self.training) or []):
            raise UsageError("audits are of frozen encoders: leave out --training")
        for name, least in (("examples", 1), ("canaries", 8), ("epochs", 1), ("trials", 100)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"--{name} {value}: at least {least} were expected")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise UsageError(f"--delta {self.delta}: a probability below 1 was expected")
        if self.public:
            self.registry.get("dataset", split(self.public)[0])


def _games(defense: Any) -> tuple[str, ...]:
    """What a defense is put to where nobody says: it is one of updates, or of encodings."""
    return ("updates",) if hasattr(defense, "altered") else ("pair", "canaries")


def listed(value: Any) -> list[Any] | None:
    """One or several, as a list."""
    if value is None:
        return None
    if isinstance(value, str | os.PathLike) or not isinstance(value, Iterable):
        return [value]
    return list(value)
