"""What a worker does with a unit: cells that attack the same release, run one after the other.

A unit travels as plain words and comes back as plain records. A worker may be another process or another machine, so it
makes the plugins itself, and saves nothing: that is for the process that started the run.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.experiment import identity
from bench.experiment.cells import Cell
from bench.experiment.execute import Result, Scenes, Stage, execute, release_of
from bench.isolation import process
from bench.plugins.registry import Registry
from bench.records.model import STAMP, Record
from bench.system.files import write_text
from bench.system.paths import cache_dir

Task = tuple[Cell, Record]

# A worker with several threads (Dask's default) does one unit at a time: cells share models not made for threads.
_turn = threading.Lock()
# The next unit may attack the release of the last one.
_scenes = Scenes()
# The run whose unit is being done, and those whose units are to end at once.
_doing: list[str] = []
_stopped: set[str] = set()


@dataclass(frozen=True)
class Job:
    """What all units of a run have in common."""

    run: str
    """names the run, so that its units can be stopped"""
    device: str
    limits: process.Limits
    files: tuple[tuple[str, str], ...] = ()
    """path and source of the files that --plugin named: another machine may not have them"""
    patience_s: float = 0.0
    """after this long a unit hands back what is finished, so that a kill cannot lose more"""
    stage: Stage | None = None
    """told how far a cell is, where the unit runs in this very process"""

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "stage": None}


@dataclass(frozen=True)
class Unit:
    """Cells that attack the same release; `faults` counts the workers that were lost with it."""

    tasks: tuple[Task, ...]
    faults: int = 0
    kept: tuple[dict[str, Any], ...] = field(init=False)

    def __post_init__(self) -> None:
        kept = ({"samples": cell.samples, "answers": cell.answers} for cell, _ in self.tasks)
        object.__setattr__(self, "kept", tuple(kept))

    def __getstate__(self) -> dict[str, Any]:
        """A plugin from a file cannot be pickled; the description of its cell says enough to make it again."""
        return {**vars(self), "tasks": tuple((None, about) for _, about in self.tasks)}

    def without(self, finished: int) -> Unit:
        return replace(self, tasks=self.tasks[finished:])


def units(tasks: Sequence[Task], at_least: int) -> list[Unit]:
    """Cells grouped by the release they attack; a group is cut only if there would be too few for the workers."""
    groups: dict[str, list[Task]] = {}
    for cell, about in tasks:
        groups.setdefault(release_of(about), []).append((cell, about))
    return spread([Unit(tuple(group)) for group in groups.values()], at_least)


def spread(some: Sequence[Unit], at_least: int) -> list[Unit]:
    """The largest are halved until there are enough, or none is left to halve."""
    found = list(some)
    while found and len(found) < at_least:
        largest = max(range(len(found)), key=lambda i: len(found[i].tasks))
        unit = found[largest]
        middle = len(unit.tasks) // 2
        if middle == 0:
            break
        found[largest : largest + 1] = [replace(unit, tasks=unit.tasks[:middle]), unit.without(middle)]
    return found


def run(unit: Unit, job: Job) -> list[Result]:
    """The results of the first cells of the unit, as many as were finished before patience ran out."""
    with _turn:
        if _doing != [job.run]:
            _forget()
        _doing[:] = [job.run]
        if multiprocessing.parent_process() and threading.current_thread() is threading.main_thread():
            # A local worker is told by SIGTERM to end its attack; what it has finished goes back.
            signal.signal(signal.SIGTERM, lambda number, frame: stop(job.run))
        end = time.monotonic() + job.patience_s
        done: list[Result] = []
        for (cell, about), kept in zip(unit.tasks, unit.kept, strict=True):
            if job.run in _stopped or (done and time.monotonic() >= end):
                break
            here = cell or _made(about, kept, job.files)
            result = execute(
                here, about, device=job.device, limits=job.limits, stage=job.stage or _silent, scenes=_scenes
            )
            if job.run in _stopped:
                break  # the attack was ended by us: that is no result
            record = result.record
            record = record.replace(cost=record.cost.replace(ended=time.strftime(STAMP, time.gmtime())))
            done.append(result._replace(record=record))
        return done


def stop(run: str) -> None:
    """End what a run is doing in this process, and only that: a cluster may serve several."""
    _stopped.add(run)
    if run in _doing:
        process.end_all()


def _forget() -> None:
    """Before another run: a worker may outlive many, and data, weights and plugins may have changed since the last."""
    _scenes.clear()
    identity.forget()


def _made(about: Record, kept: dict[str, Any], files: tuple[tuple[str, str], ...]) -> Cell:
    """The cell of a description, if it is the same here: this worker may have other code, data or weights."""
    cell = replace(identity.cell_of(_registry(files), about), **kept)
    found = identity.describe(cell)["id"]
    if found != about["id"]:
        import socket

        raise BenchError(
            f"worker {socket.gethostname()} would run another cell ({found}) than was asked for ({about['id']}, "
            f"{cell.title}): give it the same hideseek, plugins, data and weights as the machine that started the run"
        )
    return cell


@lru_cache(maxsize=4)
def _registry(files: tuple[tuple[str, str], ...]) -> Registry:
    return Registry(tuple(_there(Path(path), text) for path, text in files))


def _there(path: Path, text: str) -> str:
    """A plugin file: the one named, if it is the same here, else a copy of it."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path = cache_dir() / "plugins" / hashlib.sha256(text.encode()).hexdigest()[:16] / path.name
        write_text(path, text)
    return str(path)


def _silent(text: str) -> None:
    pass
