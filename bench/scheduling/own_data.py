"""What a user's own data look like to a run, in a line before it begins: rows and classes, where a typo would show."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np

from bench.experiment import setup
from bench.records.model import Record
from bench.scheduling.tasks import Task
from bench.types import Examples

# Classes that are named, each by its first characters.
NAMED, LONGEST = 8, 30


def described(tasks: Iterable[Task[Record]]) -> Iterator[str]:
    """A line for each data set that is read from a path; what cannot be read is said by its task."""
    found = {task.subject.dataset.label: task.subject.dataset for task in tasks}
    for label, dataset in found.items():
        if isinstance(getattr(dataset.plugin, "path", None), str):
            with contextlib.suppress(Exception):
                train = setup.load(dataset.plugin, "train")[0]
                yield f"{label}: {len(train):,} rows to train on{labels(train)}"


def labels(examples: Examples) -> str:
    """Classes and how often each occurs, or the range of scores."""
    if not examples.classes:
        low, high = examples.labels.min(), examples.labels.max()
        return f", scores from {low:g} to {high:g}"
    counts = np.bincount(examples.labels.astype(int), minlength=len(examples.classes))
    named = [f"{name[:LONGEST]!r} ({count:,})" for name, count in zip(examples.classes, counts, strict=True)][:NAMED]
    more = f" and {len(examples.classes) - NAMED} more" if len(examples.classes) > NAMED else ""
    return f", {len(examples.classes)} classes: {', '.join(named)}{more}"
