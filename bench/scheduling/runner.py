"""Runs cells: what is on record is taken from there, the rest goes to workers, and every result is saved as it comes.

Only this process saves. It hands out units (bench.scheduling.units) to an executor (bench.scheduling.executors), a few
at a time so that another run into the same folder finds some left to do, and holds a lock (bench.system.locks) on every
cell it has handed out.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.errors import BenchError, Interrupted
from bench.experiment import identity
from bench.experiment.cells import Cell
from bench.experiment.execute import Result
from bench.isolation import process
from bench.records import guesses, store
from bench.records.model import Record
from bench.scheduling import executors, prefetch, units
from bench.scheduling.estimates import Costs, Forecast, spent
from bench.scheduling.progress import Line, Progress
from bench.scheduling.units import Task, Unit
from bench.scoring import per_example
from bench.system.locks import Locks

# A unit whose worker was lost is tried again so many times. An attack's own failure is a result, and is not.
RETRIES = 2
# Seconds of finished work that a kill may lose at the most, per worker.
PATIENCE_S = 10.0
# Seconds between two looks at cells that another run is doing.
POLL_S = 0.5


@dataclass(frozen=True)
class Settings:
    """How to run, none of which changes a number."""

    out: Path = Path("results")
    device: str = "cpu"
    limits: process.Limits = field(default_factory=process.Limits)
    jobs: int = 1
    cluster: str | None = None
    """HOST:PORT of a Dask scheduler, which takes the place of `jobs`"""
    files: tuple[str, ...] = ()
    """what --plugin named"""
    force: bool = False
    details: bool = False
    utility: bool = False


def run(cells: Sequence[Cell], settings: Settings, progress: Progress) -> tuple[list[Record], list[BenchError]]:
    """The records of all cells, in order, and the errors of cells that could not even be described."""
    _check_writable(settings.out)
    began = time.time()
    planned, errors = describe(cells)
    for cell, error in errors:
        progress.note(f"{cell.title}: {error}")
    done: dict[str, Record] = {}
    todo: dict[str, Task] = {}
    for cell, about in planned:
        found = known(settings, about, cell)
        if found is not None:
            done[about["id"]] = _named(settings.out, found, cell)
        else:
            todo[about["id"]] = (_demanding(cell, todo.get(about["id"])), about)
    try:
        if todo:
            _Run(settings, progress, done, began).go(list(todo.values()))
        else:
            progress.plan(len(done), 0)
        if settings.utility:
            for cell, about in planned:
                done[about["id"]] = _with_utility(cell, done[about["id"]], settings, progress)
    except OSError as error:
        raise BenchError(f"{error}; what is finished is saved, and the same command goes on") from error
    except KeyboardInterrupt:
        finished = [done[about["id"]] for _, about in planned if about["id"] in done]
        raise Interrupted(finished, len(cells)) from None
    return [done[about["id"]] for _, about in planned], [error for _, error in errors]


def describe(cells: Sequence[Cell]) -> tuple[list[Task], list[tuple[Cell, BenchError]]]:
    """Cells with their descriptions, and those that have none, with the reason."""
    planned: list[Task] = []
    errors: list[tuple[Cell, BenchError]] = []
    for cell in cells:
        try:
            planned.append((cell, identity.describe(cell)))
        except BenchError as error:
            errors.append((cell, error))
    return planned, errors


def _demanding(cell: Cell, twin: Task | None) -> Cell:
    """Of a cell that is named twice the one that wants more to be kept."""
    return cell if twin is None else max(cell, twin[0], key=lambda c: (c.samples, c.answers))


def known(settings: Settings, about: Record, cell: Cell, since: float | None = None) -> Record | None:
    """The stored record, if the cell came to a good end. Failures are tried again: the limit may have been raised.

    What was saved after `since` counts however it ended: another run has just done it.
    """
    path = store.path_of(settings.out, about)
    if not path.exists():
        return None
    fresh = since is not None and path.stat().st_mtime >= since
    found = store.read(path)
    if found is None or found["id"] != about["id"]:
        return None
    if found["status"] != "ok":
        return found if fresh else None
    if (settings.force and not fresh) or (settings.details and not path.with_suffix(".parquet").exists()):
        return None
    return found if per_example.enough(found, cell) else None


def _named(out: Path, found: Record, cell: Cell) -> Record:
    """The stored record, which now belongs to this cell's suite, too."""
    named = store.for_suite(found, cell.suite)
    return found if named == found else store.save(out, named)


class _Run:
    """The part of a run that hands out units and takes in results. `done` is filled as records are saved."""

    def __init__(self, settings: Settings, progress: Progress, done: dict[str, Record], began: float):
        self._settings, self._progress, self._done, self._began = settings, progress, done, began
        self._pending: deque[Unit] = deque()
        self._flying: dict[Future[list[Result]], tuple[Unit, Line]] = {}
        self._elsewhere: list[Task] = []
        self._waited = False

    def go(self, tasks: list[Task]) -> None:
        settings, name = self._settings, secrets.token_hex(8)
        workers = _workers(settings, name)
        here = isinstance(workers, executors.Here)
        forecast = Forecast((about for _, about in tasks), Costs(settings.out))
        self._progress.plan(len(self._done), len(tasks), forecast, workers.width)
        self._job = units.Job(
            run=name,
            device=settings.device,
            limits=settings.limits,
            files=tuple((str(Path(path).resolve()), Path(path).read_text(encoding="utf-8")) for path in settings.files),
            patience_s=0.0 if here else PATIENCE_S,
            stage=self._stage,
        )
        with Locks(settings.out) as locks:
            try:
                if not here:
                    line = self._progress.start("vectors")
                    prefetch.prepare(tasks, settings.device, line.stage)
                    line.close()
                self._pending.extend(units.units(tasks, 2 * workers.width if workers.width > 1 else 1))
                self._loop(workers, locks)
            except BaseException:
                try:
                    workers.halt()
                    wait(self._flying, timeout=executors.GRACE_S)
                    self._collect()
                finally:
                    workers.shutdown(wait=False, cancel_futures=True)
                raise
            workers.shutdown()

    def _loop(self, workers: executors.Workers, locks: Locks) -> None:
        while self._pending or self._flying or self._elsewhere:
            while self._pending and self._room(workers):
                unit = self._claimed(self._pending.popleft(), locks)
                if unit.tasks:
                    self._submit(unit, workers)
            if self._flying:
                finished, _ = wait(self._flying, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._take(future, locks, workers)
            elif self._elsewhere and not self._pending:
                self._wait_for_others()

    def _room(self, workers: executors.Workers) -> bool:
        """A unit that has lost its worker runs alone: if it is the one that kills workers, it takes no other along."""
        if self._pending[0].faults or any(unit.faults for unit, _ in self._flying.values()):
            return not self._flying
        return len(self._flying) < (2 * workers.width if workers.width > 1 else 1)

    def _claimed(self, unit: Unit, locks: Locks) -> Unit:
        """The unit without cells that another run holds, or has finished meanwhile."""
        left: list[Task] = []
        for cell, about in unit.tasks:
            if not locks.take(about["id"]):
                self._elsewhere.append((cell, about))
                continue
            found = known(self._settings, about, cell, self._began)
            if found is None:
                left.append((cell, about))
                continue
            self._done[about["id"]] = _named(self._settings.out, found, cell)
            locks.free(about["id"])
            self._progress.done(f"{cell.title} (by another run)", found, 0.0)
        return replace(unit, tasks=tuple(left))

    def _submit(self, unit: Unit, workers: executors.Workers) -> None:
        more = f" and {len(unit.tasks) - 1} more" if len(unit.tasks) > 1 and workers.width > 1 else ""
        self._line = self._progress.start(unit.tasks[0][0].title + more)
        self._flying[workers.submit(units.run, unit, self._job)] = (unit, self._line)

    def _stage(self, text: str) -> None:
        self._line.stage(text)

    def _take(self, future: Future[list[Result]], locks: Locks, workers: executors.Workers) -> None:
        unit, line = self._flying[future]
        line.close()
        try:
            results = future.result()
        except BrokenExecutor as error:
            del self._flying[future]
            self._lost(unit, error, locks)
            return
        for (cell, _), result in zip(unit.tasks, results, strict=False):
            self._save(cell, result)
            locks.free(result.record["id"])
        del self._flying[future]  # only now: Ctrl-C may come at any moment
        rest = unit.without(len(results))
        if rest.tasks:
            self._pending.appendleft(rest)
            self._pending = deque(units.spread(self._pending, workers.width))

    def _save(self, cell: Cell, result: Result) -> None:
        record, items = result.record, result.items
        if items is not None and self._settings.details:
            _save_details(self._settings.out, record, items)
        # Run again, it still belongs to the suites that it belonged to.
        path = store.path_of(self._settings.out, record)
        before = store.read(path) if path.exists() else None
        record = record.replace(suites=before.suites if before else {})
        guesses.save(path, result.guess)
        record = store.save(self._settings.out, store.for_suite(record, cell.suite))
        self._done[record["id"]] = record
        self._progress.done(cell.title, record, spent(record))
        for what, times in record.get("tried", {}).get("attempts", {}).items():
            said = f"{cell.attack.name} {what} ({times} times)" if times > 1 else f"{cell.attack.name} {what}"
            self._progress.note(said)

    def _lost(self, unit: Unit, error: BrokenExecutor, locks: Locks) -> None:
        """Each cell again by itself; the one that has lost too many workers fails."""
        if unit.faults >= RETRIES:
            ((cell, about),) = unit.tasks
            reason = f"its worker was lost {unit.faults + 1} times, perhaps for want of memory ({error})"
            self._save(cell, Result(about.replace(status="failed", error=reason)))
            locks.free(about["id"])
            return
        titles = f"{unit.tasks[0][0].title}{' and others' if len(unit.tasks) > 1 else ''}"
        self._progress.note(f"{titles}: a worker was lost; trying again")
        self._pending.extendleft(Unit((task,), unit.faults + 1) for task in reversed(unit.tasks))

    def _wait_for_others(self) -> None:
        if not self._waited:
            self._progress.note(f"{len(self._elsewhere)} cells are being run by another process; waiting for them")
        self._waited = True
        time.sleep(POLL_S)
        self._pending.extend(units.units(self._elsewhere, len(self._elsewhere)))
        self._elsewhere.clear()

    def _collect(self) -> None:
        """Save what was finished in the very moment of an interruption."""
        for future, (unit, _) in self._flying.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                for (cell, _), result in zip(unit.tasks, future.result(), strict=False):
                    self._save(cell, result)


def _workers(settings: Settings, run: str) -> executors.Workers:
    if settings.cluster:
        return executors.Cluster(settings.cluster, partial(units.stop, run))
    return executors.Here() if settings.jobs == 1 else executors.local(settings.jobs)


def _with_utility(cell: Cell, record: Record, settings: Settings, progress: Progress) -> Record:
    """The record with what its defense costs, measured once for all attacks on it."""
    from bench.experiment.training import Training
    from bench.scheduling import utility as training_runs

    try:
        found = training_runs.of(cell, Training(), settings.out, settings.device, progress)
    except BenchError as error:
        progress.note(f"{cell.title}: no utility: {error}")
        return record
    if record["utility"] is not None and record["utility"]["id"] == found["id"]:
        return record
    return store.save(settings.out, record.replace(utility={"metrics": found.metrics, "id": found.id}))


def _save_details(out: Path, record: Record, items: dict[str, Any]) -> None:
    import pandas as pd

    from bench.system.files import replacing

    with replacing(store.path_of(out, record).with_suffix(".parquet")) as part:
        pd.DataFrame(items).to_parquet(part, index=False)


def _check_writable(out: Path) -> None:
    from bench.system.files import write_text

    probe = out / ".writable"
    write_text(probe, "")
    probe.unlink(missing_ok=True)
