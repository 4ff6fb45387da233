"""Repeats the run behind a record, and compares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.records.model import Record

if TYPE_CHECKING:
    from bench.api.requests import AttackRequest
    from bench.experiment.cells import Trial
    from bench.scheduling.progress import Progress
    from bench.scheduling.settings import RunSettings


class Replay(NamedTuple):
    record: Record
    """of the repetition; it is not saved"""
    differences: list[str]
    """every number that did not come out again"""


def replay(path: str | os.PathLike[str], request: AttackRequest) -> Replay:
    """`request` says how to run it; what to run is in the record."""
    from bench.experiment.replay import open_record, subject_of
    from bench.scheduling.progress import Progress

    request.check()
    old = open_record(Path(path))
    subject = subject_of(request.registry, old)
    with Progress(quiet=not request.progress) as progress:
        return repeat(subject, old, request.settings(), progress)


def repeat(subject: Trial, old: Record, settings: RunSettings, progress: Progress) -> Replay:
    """Run a cell or a training once more, while `progress` shows how far it is."""
    from bench.experiment import replay as repetition

    progress.plan(0, 1)
    line = progress.start(subject.title)
    new, differences = repetition.run(subject, old, settings.device, settings.limits, line.stage, progress.note)
    line.done(new)
    return Replay(new, list(map(str, differences)))
