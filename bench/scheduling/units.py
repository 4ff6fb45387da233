"""What a worker does with a unit: tasks that share a release, executed one after the other.

A worker may be another process or another machine. It makes the plugins itself and saves nothing: only the process that
started the run writes records.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.experiment import identity
from bench.experiment.execute import Result, Scenes, Stage
from bench.isolation import process
from bench.plugins.registry import Registry
from bench.records.model import STAMP, Record
from bench.scheduling.tasks import Environment, PickledTask, Task
from bench.system.files import write_text
from bench.system.paths import cache_dir

# A worker with several threads (Dask's default) does one unit at a time: cells share models not made for threads.
_one_at_a_time = threading.Lock()
# The next unit may attack the release of the last one.
_scenes = Scenes()
# The run whose unit is being done, and those whose units are to end at once.
_current: list[str] = []
_stopped: set[str] = set()


@dataclass(frozen=True)
class RunContext:
    """What all units of a run have in common."""

    run: str
    """a random name by which the units of this run can be stopped"""
    device: str
    limits: process.Limits
    files: tuple[tuple[str, str], ...] = ()
    """path and source of the files that --plugin named: another machine may not have them"""
    max_unit_s: float = 0.0
    """after this long a unit returns what is finished, so that a kill cannot lose more"""
    details: bool = False
    """every question with its answers is wanted (--details)"""
    stage: Stage | None = None
    """told how far a task is, where the unit runs in this very process"""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "stage": None}


@dataclass(frozen=True)
class Unit:
    """Tasks that share a release; `lost_workers` counts the workers that died while they had it."""

    tasks: tuple[Task[Record], ...]
    lost_workers: int = 0

    def without(self, finished: int) -> Unit:
        return replace(self, tasks=self.tasks[finished:])


class _Stopped(BaseException):
    """Raised inside a task whose run was stopped; not an Exception, which would count as the task's own failure."""


def group(tasks: Sequence[Task[Record]], at_least: int) -> list[Unit]:
    """Tasks grouped by what they share; a group is split only if there would be too few for the workers."""
    groups: dict[str, list[Task[Record]]] = {}
    for task in tasks:
        groups.setdefault(task.group, []).append(task)
    return split([Unit(tuple(members)) for members in groups.values()], at_least)


def split(units: Sequence[Unit], at_least: int) -> list[Unit]:
    """The largest units are halved until there are enough, or none is left to halve."""
    found = list(units)
    while found and len(found) < at_least:
        largest = max(range(len(found)), key=lambda i: len(found[i].tasks))
        unit = found[largest]
        middle = len(unit.tasks) // 2
        if middle == 0:
            break
        found[largest : largest + 1] = [replace(unit, tasks=unit.tasks[:middle]), unit.without(middle)]
    return found


def run(unit: Unit, context: RunContext) -> list[Result]:
    """The results of the first tasks of the unit, as many as were finished before its time was up."""
    with _one_at_a_time:
        if _current != [context.run]:
            _forget()
        _current[:] = [context.run]
        if multiprocessing.parent_process() and threading.current_thread() is threading.main_thread():
            # A local worker is told by SIGTERM to end its attack; what it has finished goes back.
            signal.signal(signal.SIGTERM, lambda number, frame: stop(context.run))
        end = time.monotonic() + context.max_unit_s
        environment = Environment(context.device, context.limits, _stage(context), _scenes, context.details)
        done: list[Result] = []
        for task in unit.tasks:
            if context.run in _stopped or (done and time.monotonic() >= end):
                break
            try:
                result = _restored(task, context.files).execute(environment)
            except _Stopped:
                break
            if context.run in _stopped:
                break  # the attack was ended by us: that is no result
            cost = result.record.cost.replace(ended=time.strftime(STAMP, time.gmtime()))
            done.append(result._replace(record=result.record.replace(cost=cost)))
        return done


def stop(run: str) -> None:
    """End what a run is doing in this process, and only that: a cluster may serve several."""
    _stopped.add(run)
    if run in _current:
        process.end_all()


def _stage(context: RunContext) -> Stage:
    """Reports progress and ends a task between two stages once its run was stopped: training has no process to kill."""
    report: Callable[[str], None] = context.stage or (lambda text: None)

    def stage(text: str) -> None:
        if context.run in _stopped:
            raise _Stopped
        report(text)

    return stage


def _forget() -> None:
    """Before another run: a worker may outlive many, and data, weights and plugins may have changed since the last."""
    _scenes.clear()
    identity.forget()


def _restored(task: Task[Record] | PickledTask, files: tuple[tuple[str, str], ...]) -> Task[Record]:
    return task.restored(_registry(files)) if isinstance(task, PickledTask) else task


@lru_cache(maxsize=4)
def _registry(files: tuple[tuple[str, str], ...]) -> Registry:
    return Registry(tuple(_local_copy(Path(path), text) for path, text in files))


def _local_copy(path: Path, text: str) -> str:
    """A plugin file: the one named, if it is the same here, else a copy of it in the cache."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path = cache_dir() / "plugins" / hashlib.sha256(text.encode()).hexdigest()[:16] / path.name
        write_text(path, text)
    return str(path)
