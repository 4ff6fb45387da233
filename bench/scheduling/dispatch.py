"""Hands out units to an executor and takes in their results.

Only this process saves. It hands out a few units at a time, so that another run into the same folder finds some left to
do, and holds a lock (bench.system.locks) on every task that it has handed out.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench.experiment.execute import Result
from bench.records.model import AttackRecord, Record
from bench.scheduling import executors, prefetch, units
from bench.scheduling.estimates import RemainingTime, ResourceHistory
from bench.scheduling.executors.base import GRACE_S, TaskExecutor
from bench.scheduling.progress import Progress, ProgressLine
from bench.scheduling.settings import RunSettings
from bench.scheduling.stored import StoredRecords
from bench.scheduling.tasks import Task, noun
from bench.scheduling.units import RunContext, Unit
from bench.system.locks import Locks

# A task whose worker was lost is tried again so many times. An attack's own failure is a result, and is not retried.
RETRIES = 2
# Seconds of finished work that a kill may lose at the most, per worker.
MAX_UNIT_S = 10.0
# Seconds between two looks at tasks that another run is doing.
POLL_S = 0.5


class Dispatcher:
    """The part of a run that works. `done` is filled as records are saved."""

    def __init__(
        self,
        settings: RunSettings,
        stored: StoredRecords,
        progress: Progress,
        done: dict[str, Record],
        began: float,
    ):
        self._settings, self._stored, self._progress, self._done = settings, stored, progress, done
        self._began = began
        self._executor: TaskExecutor = executors.create(settings.executor)
        self._pending: deque[Unit] = deque()
        self._running: dict[Future[list[Result]], tuple[Unit, ProgressLine]] = {}
        self._elsewhere: list[Task[Record]] = []
        self._waited = False

    def run(self, tasks: list[Task[Record]]) -> None:
        name, executor = secrets.token_hex(8), self._executor
        executor.open(partial(units.stop, name))
        with Locks(self._settings.out) as locks:
            try:
                remaining = RemainingTime((task.about for task in tasks), ResourceHistory(self._settings.out))
                self._progress.plan(len(self._done), len(tasks), remaining, executor.width, noun=noun(tasks))
                self._context = self._run_context(name)
                line = self._progress.start("vectors")
                if not executor.in_process:
                    prefetch.prepare(tasks, self._settings.device, line.stage)
                prefetch.prepare_scoring(tasks, self._settings.device, line.stage)
                line.close()
                self._pending.extend(units.group(tasks, self._most_in_flight()))
                self._loop(locks)
            except BaseException:
                try:
                    executor.halt()
                    wait(self._running, timeout=GRACE_S)
                    self._collect()
                finally:
                    executor.shutdown(wait=False, cancel_futures=True)
                raise
            executor.shutdown()

    def _run_context(self, name: str) -> RunContext:
        settings, executor = self._settings, self._executor
        return RunContext(
            run=name,
            device=settings.device,
            limits=replace(settings.limits, threads=executor.threads),
            files=tuple((str(Path(path).resolve()), Path(path).read_text(encoding="utf-8")) for path in settings.files),
            max_unit_s=0.0 if executor.in_process else MAX_UNIT_S,
            details=settings.details,
            stage=self._stage,
        )

    def _most_in_flight(self) -> int:
        """One more for each of several workers than it is running, so that none has to wait for us."""
        width = self._executor.width
        return 2 * width if width > 1 else 1

    def _loop(self, locks: Locks) -> None:
        while self._pending or self._running or self._elsewhere:
            while self._pending and self._has_room():
                unit = self._claim(self._pending.popleft(), locks)
                if unit.tasks:
                    self._submit(unit)
            if self._running:
                finished, _ = wait(self._running, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._take(future, locks)
            elif self._elsewhere and not self._pending:
                self._wait_for_other_runs()

    def _has_room(self) -> bool:
        """A unit that has lost its worker runs alone: if it is the one that kills workers, it takes no other along."""
        if self._pending[0].lost_workers or any(unit.lost_workers for unit, _ in self._running.values()):
            return not self._running
        return len(self._running) < self._most_in_flight()

    def _claim(self, unit: Unit, locks: Locks) -> Unit:
        """The unit without tasks that another run holds, or has finished meanwhile."""
        left: list[Task[Record]] = []
        for task in unit.tasks:
            if not locks.acquire(task.about.id):
                self._elsewhere.append(task)
                continue
            found = self._stored.find(task, self._began)
            if found is None:
                left.append(task)
                continue
            self._done[task.about.id] = self._stored.adopt(found, task)
            locks.release(task.about.id)
            self._progress.done(f"{task.title} (by another run)", found, 0.0)
        return replace(unit, tasks=tuple(left))

    def _submit(self, unit: Unit) -> None:
        more = f" and {len(unit.tasks) - 1} more" if len(unit.tasks) > 1 and self._executor.width > 1 else ""
        self._line = self._progress.start(unit.tasks[0].title + more)
        self._running[self._executor.submit(units.run, unit, self._context)] = (unit, self._line)

    def _stage(self, text: str) -> None:
        self._line.stage(text)

    def _take(self, future: Future[list[Result]], locks: Locks) -> None:
        unit, line = self._running[future]
        line.close()
        try:
            results = future.result()
        except BrokenExecutor as error:
            del self._running[future]
            self._retry(unit, error, locks)
            return
        for task, result in zip(unit.tasks, results, strict=False):
            self._save(task, result)
            locks.release(task.about.id)
        del self._running[future]  # only now: Ctrl-C may come at any moment, and `_collect` saves what is in here
        rest = unit.without(len(results))
        if rest.tasks:
            self._pending.appendleft(rest)
            self._pending = deque(units.split(self._pending, self._executor.width))

    def _save(self, task: Task[Record], result: Result) -> None:
        record = self._done[task.about.id] = self._stored.save(task, result)
        self._progress.done(task.title, record, record.cost.seconds)
        if isinstance(record, AttackRecord) and record.tried:
            for what, times in record.tried.attempts.items():
                often = f" ({times} times)" if times > 1 else ""
                self._progress.note(f"{record.attack.name} {what}{often}")

    def _retry(self, unit: Unit, error: BrokenExecutor, locks: Locks) -> None:
        """Each task again by itself; the one that has lost too many workers fails."""
        if unit.lost_workers >= RETRIES:
            (task,) = unit.tasks
            reason = f"its worker was lost {unit.lost_workers + 1} times, perhaps for want of memory ({error})"
            self._save(task, Result(task.about.replace(status="failed", error=reason)))
            locks.release(task.about.id)
            return
        titles = f"{unit.tasks[0].title}{' and others' if len(unit.tasks) > 1 else ''}"
        self._progress.note(f"{titles}: a worker was lost; trying again")
        self._pending.extendleft(Unit((task,), unit.lost_workers + 1) for task in reversed(unit.tasks))

    def _wait_for_other_runs(self) -> None:
        if not self._waited:
            what = f"{len(self._elsewhere)} {noun(self._elsewhere)}"
            self._progress.note(f"{what} are being run by another process; waiting for them")
        self._waited = True
        time.sleep(POLL_S)
        self._pending.extend(units.group(self._elsewhere, len(self._elsewhere)))
        self._elsewhere.clear()

    def _collect(self) -> None:
        """Save what was finished in the very moment of an interruption."""
        for future, (unit, _) in self._running.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                for task, result in zip(unit.tasks, future.result(), strict=False):
                    self._save(task, result)
