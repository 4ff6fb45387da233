"""A report from end to end: check, guess the time, run step after step within the budget, hand over the records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.records import store
from bench.records.model import AttackRecord, Record, UtilityRecord
from bench.reporting import steps
from bench.reporting.content import Report
from bench.reporting.pace import SAMPLE, Pace, seconds_per_text
from bench.reporting.steps import RECOMMENDED, Step, Subject
from bench.scheduling import executors, own_data, prefetch, runner
from bench.scheduling.estimates import format_duration
from bench.scheduling.progress import Progress, Whole
from bench.scheduling.settings import RunSettings
from bench.scheduling.stored import StoredRecords
from bench.scheduling.tasks import AttackTask, Task, noun


@dataclass(frozen=True)
class Order:
    """What is asked for."""

    subject: Subject
    budget_s: float
    """seconds that steps may take, by the guess before each"""
    command: Sequence[str]
    recipe: Path = RECOMMENDED


def run(order: Order, settings: RunSettings, progress: Progress) -> Report:
    """Records are saved as they come, and what is on record is not run again."""
    stored = StoredRecords(settings.out)
    stored.check_writable()
    trial = order.subject.trial()
    rows = steps.rows_of(trial.dataset)
    planned = steps.read(order.recipe, order.subject, rows)
    for step in planned:
        _check(step)
    for said in own_data.described(planned[0].tasks):
        progress.note(said)
    progress.note(f"{rows:,} rows; encoding {SAMPLE} of them to see how fast this machine is")
    work = Work(planned, order.budget_s, settings, progress, Pace(seconds_per_text(trial, settings.device), stored))
    work.encode()
    for at, step in enumerate(planned):
        work.run(at, step)
    progress.part_of(None)
    records = work.records()
    return Report([*records, *_trained(records, settings.out)], work.left_out, order.command)


def _check(step: Step) -> None:
    """Data or weights that are missing are said now, and not after minutes."""
    for task in step.tasks:
        try:
            _ = task.about
        except BenchError as error:
            raise type(error)(f"{step.title}: {error}") from error


class Work:
    """Steps, worked off one after the other while there is time."""

    def __init__(self, planned: Sequence[Step], budget_s: float, settings: RunSettings, progress: Progress, pace: Pace):
        self._planned, self._budget_s, self._settings, self._progress = planned, budget_s, settings, progress
        self._pace = pace
        self._began = time.monotonic()
        self._found: dict[str, Record] = {}
        self.left_out: list[str] = []

    def records(self) -> list[Record]:
        """In the order of the recipe, whatever was on record and whatever was run now."""
        tasks = [task for step in self._planned for task in step.tasks]
        return [self._found[task.about.id] for task in tasks if task.about.id in self._found]

    def encode(self) -> None:
        """The vectors that the steps start from, all at once: it says how fast the machine is better than a sample."""
        tasks = [task for step in self._planned for task in self._pace.todo(step)]
        texts = sum(len(wanted.missing()) for wanted in prefetch.texts_of(tasks))
        steps_s = self._pace.left(self._planned)
        total, budget = format_duration(self._pace.encoding(texts) + steps_s), format_duration(self._budget_s)
        self._progress.note(f"{len(self._planned)} steps: about {total}; the budget is {budget}")
        if not texts:
            return
        line = self._progress.start(f"encoding {texts:,} texts, about {format_duration(self._pace.encoding(texts))}")
        start = time.monotonic()
        prefetch.prepare(tasks, self._settings.device, line.stage)
        line.close()
        self._pace.encoded(texts, time.monotonic() - start)

    def run(self, at: int, step: Step) -> None:
        """Task by task: a guess for a whole step may be far off, and the first tasks of a step tell the rest of it."""
        where = f"step {at + 1} of {len(self._planned)}, {step.title}"
        todo = self._pace.todo(step)
        total = sum(map(_parts, step.tasks))
        if on_record := [task for task in step.tasks if task not in todo]:
            self._progress.part_of(Whole(0, total, lambda: 0.0))
            self._take(on_record)
            self._progress.note(f"{where}: {len(on_record)} of {len(step.tasks)} {noun(step.tasks)} are on record")
        width = executors.create(self._settings.executor).width
        portions = [todo[i : i + width] for i in range(0, len(todo), width)]
        if portions and self._fits(at, step, portions[0]):
            both = format_duration(self._pace.expected(step)), format_duration(self._to_come(at))
            self._progress.note(f"{where}: about {both[0]}, all that is left about {both[1]}")
        for number, portion in enumerate(portions):
            if not self._fits(at, step, portion):
                self._leave_out(where, step, [task for some in portions[number:] for task in some])
                return
            self._run(at, step, portion)

    def _fits(self, at: int, step: Step, portion: Sequence[Task[Record]]) -> bool:
        """The first step is run in any case: a report without it says nothing."""
        return at == 0 or self._pace.expected(step, len(portion)) <= self._room

    @property
    def _room(self) -> float:
        return self._budget_s - (time.monotonic() - self._began)

    def _run(self, at: int, step: Step, portion: Sequence[Task[Record]]) -> None:
        start, to_come = time.monotonic(), self._to_come(at)
        left = sum(map(_parts, self._pace.todo(step)))
        total = sum(map(_parts, step.tasks))
        self._progress.part_of(Whole(total - left, total, lambda: max(0.0, to_come - (time.monotonic() - start))))
        self._take(portion)
        self._pace.took(step, len(portion), time.monotonic() - start)

    def _take(self, tasks: Sequence[Task[Record]]) -> None:
        """Tasks that are on record are taken from there."""
        found, errors = runner.run(tasks, self._settings, self._progress)
        if errors:
            raise errors[0]
        self._found |= {record.id: record for record in found}

    def _to_come(self, at: int) -> float:
        """Seconds of what will be run, by what is known now."""
        total = min(self._pace.left(self._planned[at:]), max(0.0, self._room))
        return max(total, self._pace.expected(self._planned[0])) if at == 0 else total

    def _leave_out(self, where: str, step: Step, tasks: Sequence[Task[Record]]) -> None:
        takes, room = self._pace.expected(step, len(tasks)), max(0.0, self._room)
        which = ", ".join(dict.fromkeys(task.subject.defense.label for task in tasks))
        part = "" if len(tasks) == len(step.tasks) else f": {which}"
        self._progress.note(
            f"{where}{part}: left out, about {format_duration(takes)} and {format_duration(room)} are left"
        )
        self.left_out.append(step.title + part)


def _parts(task: Task[Record]) -> int:
    """Records that a task ends in: behind an attack on a trained encoder stands the one of its training."""
    return 2 if isinstance(task, AttackTask) and task.cell.training else 1


def _trained(records: Sequence[Record], out: Path) -> list[UtilityRecord]:
    """Records of the training runs that attacked cells name: what was attacked is what was trained."""
    here = {record.id for record in records}
    wanted = {r.utility.id for r in records if isinstance(r, AttackRecord) and r.utility} - here
    return [r for r in store.read_all(out) if isinstance(r, UtilityRecord) and r.id in wanted] if wanted else []
