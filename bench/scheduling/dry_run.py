"""What a run would do: its tasks, which of them are on record, and what the rest may take. Runs and encodes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.records.model import AttackRecord, AuditRecord, Record
from bench.scheduling import executors, prefetch
from bench.scheduling.estimates import RemainingTime, ResourceHistory
from bench.scheduling.runner import describe
from bench.scheduling.settings import RunSettings
from bench.scheduling.stored import StoredRecords
from bench.scheduling.tasks import Task

State = Literal["on record", "stale", "incomplete", "to run"]
"""stale: on record, by code that has changed; incomplete: on record, without samples or details that are asked for"""


@dataclass(frozen=True)
class PlannedTask:
    id: str
    dataset: str
    encoder: str
    defense: str
    attack: str | None
    """None for a training run"""
    seed: int
    state: State
    expected_s: float | None
    expected_mib: int | None


@dataclass(frozen=True)
class PlannedVectors:
    dataset: str
    encoder: str
    texts: int
    missing: int
    """texts that are yet to be encoded"""


@dataclass(frozen=True)
class DryRun:
    tasks: list[PlannedTask]
    vectors: list[PlannedVectors]
    expected_s: float | None
    """None if nothing is known"""
    errors: list[str]
    """tasks that cannot be described, such as one whose data are missing"""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan(tasks: Sequence[Task[Record]], settings: RunSettings) -> DryRun:
    described, errors = describe(tasks)
    history = ResourceHistory(settings.out)
    stored = StoredRecords(settings.out, force=settings.force, details=settings.details)
    executor = executors.create(settings.executor)
    todo = [task for task in described if stored.find(task) is None]
    ids = {task.about.id for task in todo}
    rows = []
    for task in described:
        state: State = "to run" if task.about.id in ids else "on record"
        if task.about.id in stored.stale:
            state = "stale"
        elif task.about.id in stored.incomplete:
            state = "incomplete"
        rows.append(_row(task.about, state, history))
    vectors = [
        PlannedVectors(some.subject.dataset.label, some.subject.encoder.label, len(some.texts), len(some.missing()))
        for some in prefetch.texts_of(todo)
        if some.texts
    ]
    remaining = RemainingTime((task.about for task in todo), history)
    seconds = remaining.seconds(executor.width) if todo else 0.0
    return DryRun(rows, vectors, seconds, [f"{task.title}: {error}" for task, error in errors])


def _attack(about: Record) -> str | None:
    if isinstance(about, AuditRecord):
        return f"(audit, {about.protocol.game})"
    return about.attack.label if isinstance(about, AttackRecord) else None


def _row(about: Record, state: State, history: ResourceHistory) -> PlannedTask:
    expected = history.estimate(about)
    return PlannedTask(
        id=about.id,
        dataset=about.dataset.label,
        encoder=about.model,
        defense=about.defense.label,
        attack=_attack(about),
        seed=about.seed,
        state=state,
        expected_s=None if expected is None else round(expected.seconds, 1),
        expected_mib=None if expected is None else round(expected.mib),
    )
