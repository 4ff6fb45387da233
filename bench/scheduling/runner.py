"""Runs tasks, attacks and training alike: stored records are taken, the rest is executed and saved as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from bench.errors import BenchError, Interrupted
from bench.records import store
from bench.records.model import AttackRecord, MeasuredUtility, Record, UtilityRecord
from bench.scheduling.dispatch import Dispatcher
from bench.scheduling.progress import Progress
from bench.scheduling.settings import RunSettings
from bench.scheduling.stored import StoredRecords
from bench.scheduling.tasks import AttackTask, Task, TrainingTask, noun

R = TypeVar("R", bound=Record)


def run(tasks: Sequence[Task[R]], settings: RunSettings, progress: Progress) -> tuple[list[R], list[BenchError]]:
    """The records of all tasks, in order, and the errors of tasks that could not even be described."""
    began = time.time()
    stored = StoredRecords(settings.out, force=settings.force, details=settings.details)
    stored.check_writable()
    planned, errors = describe(tasks)
    for task, error in errors:
        progress.note(f"{task.title}: {error}")
    trained = _training_for(planned, settings.utility, progress)
    done: dict[str, Record] = {}
    todo: dict[str, Task[Record]] = {}
    wanted: list[Task[Record]] = [*planned, *trained.values()]
    for each in wanted:
        found = stored.find(each)
        if found is not None:
            done[found.id] = stored.adopt(found, each)
        else:
            todo[each.about.id] = _more_demanding(each, todo.get(each.about.id))
    for note in stored.notes():
        progress.note(note)
    try:
        if todo:
            for some in _in_order(list(todo.values())):
                Dispatcher(settings, stored, progress, done, began).run(some)
        else:
            progress.plan(len(done), 0, noun=noun(wanted))
        for id_, training in trained.items():
            done[id_] = _with_utility(done[id_], done[training.about.id], settings.out, progress)
    except OSError as error:
        # NumPy counts what it could not write, and does not say why.
        said = str(error) if error.errno else f"No space left on device ({error})"
        raise BenchError(f"{said}; what is finished is saved, and the same command goes on") from error
    except KeyboardInterrupt:
        finished = [done[task.about.id] for task in planned if task.about.id in done]
        raise Interrupted(finished, len(tasks)) from None
    return [cast(R, done[task.about.id]) for task in planned], [error for _, error in errors]


def describe(tasks: Iterable[Task[R]]) -> tuple[list[Task[R]], list[tuple[Task[R], BenchError]]]:
    """Tasks that can be described, and those that cannot, with the reason."""
    planned: list[Task[R]] = []
    errors: list[tuple[Task[R], BenchError]] = []
    for task in tasks:
        try:
            _ = task.about  # made once, and kept by the task
            planned.append(task)
        except BenchError as error:
            errors.append((task, error))
    return planned, errors


def _in_order(tasks: list[Task[Record]]) -> list[list[Task[Record]]]:
    """Trainings of encoders first: attacks on what they release need the checkpoints."""
    first: list[Task[Record]] = [t for t in tasks if isinstance(t, TrainingTask) and t.trial.training]
    rest = [task for task in tasks if task not in first]
    return [some for some in (first, rest) if some]


def _training_for(tasks: Sequence[Task[Record]], utility: bool, progress: Progress) -> dict[str, TrainingTask]:
    """The training run that each attacked cell needs, by the cell's id; attacks on one defense share it.

    A cell with a trained encoder needs one whether or not its `utility` was asked for.
    """
    found: dict[str, TrainingTask] = {}
    for task in tasks:
        if isinstance(task, AttackTask) and (utility or task.cell.training):
            training = TrainingTask(task.cell.trial)
            try:
                _ = training.about
                found[task.about.id] = training
            except BenchError as error:
                progress.note(f"{task.title}: no utility: {error}")
    return found


def _more_demanding(task: Task[Record], twin: Task[Record] | None) -> Task[Record]:
    """Of a cell that is named twice, the one that wants more to be kept in the record."""
    if isinstance(task, AttackTask) and isinstance(twin, AttackTask):
        return max(task, twin, key=lambda t: (t.cell.samples, t.cell.answers))
    return task


def _with_utility(attacked: Record, trained: Record, out: Path, progress: Progress) -> Record:
    """The record of an attack with the utility of its defense."""
    assert isinstance(attacked, AttackRecord)
    assert isinstance(trained, UtilityRecord)
    if trained.status != "ok":
        progress.note(f"{attacked.defense.label} × {attacked.attack.label}: no utility: {trained.error}")
        return attacked
    utility = MeasuredUtility(metrics=trained.metrics, id=trained.id)
    return attacked if attacked.utility == utility else store.save(out, attacked.replace(utility=utility))
