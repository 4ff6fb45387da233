"""A report from end to end: check, guess the time, run step after step within the budget, write the page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.records import store
from bench.records.model import AttackRecord, Record, UtilityRecord
from bench.reporting import steps
from bench.reporting.content import Report
from bench.reporting.pace import SAMPLE, Pace, seconds_per_text
from bench.reporting.steps import RECOMMENDED, Step, Subject
from bench.scheduling import runner
from bench.scheduling.estimates import format_duration
from bench.scheduling.progress import Progress
from bench.scheduling.settings import RunSettings
from bench.scheduling.stored import StoredRecords


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
    progress.note(f"{rows:,} rows; encoding {SAMPLE} of them to see how fast this machine is")
    pace = Pace(seconds_per_text(trial, settings.device), stored)
    left = pace.left(planned)
    budget = format_duration(order.budget_s)
    progress.note(f"{len(planned)} steps: about {format_duration(left)}; the budget is {budget}")
    began, records, left_out = time.monotonic(), list[Record](), list[str]()
    for at, step in enumerate(planned):
        todo, expected = len(pace.todo(step)), pace.expected(step)
        spent = time.monotonic() - began
        where = f"step {at + 1} of {len(planned)}, {step.title}"
        # The first step is run in any case: a report without it says nothing.
        if at and spent + expected > order.budget_s:
            room = format_duration(max(0.0, order.budget_s - spent))
            progress.note(f"{where}: left out, it would take about {format_duration(expected)} and {room} are left")
            left_out.append(step.title)
            continue
        to_come = _fitting(planned[at:], pace, order.budget_s - spent)
        both = format_duration(expected), format_duration(to_come)
        progress.note(f"{where}: about {both[0]}, all that is left about {both[1]}")
        start = time.monotonic()
        found, errors = runner.run(step.tasks, settings, progress)
        if errors:
            raise errors[0]
        pace.took(step, todo, time.monotonic() - start)
        records += found
    return Report([*records, *_trained(records, settings.out)], left_out, order.command)


def _check(step: Step) -> None:
    """Data or weights that are missing are said now, and not after minutes."""
    for task in step.tasks:
        try:
            _ = task.about
        except BenchError as error:
            raise type(error)(f"{step.title}: {error}") from error


def _fitting(planned: Iterable[Step], pace: Pace, room: float) -> float:
    """Seconds of the steps that will be run."""
    total = 0.0
    for step in planned:
        expected = pace.expected(step)
        if total == 0 or total + expected <= room:
            total += expected
    return total


def _trained(records: Sequence[Record], out: Path) -> list[UtilityRecord]:
    """Records of the training runs that attacked cells name: what was attacked is what was trained."""
    here = {record.id for record in records}
    wanted = {r.utility.id for r in records if isinstance(r, AttackRecord) and r.utility} - here
    return [r for r in store.read_all(out) if isinstance(r, UtilityRecord) and r.id in wanted] if wanted else []
