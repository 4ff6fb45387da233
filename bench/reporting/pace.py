"""How long the steps of a report will take: texts are encoded to see how fast this machine is, and the rest follows.

What has run says more than any recipe: what is left is scaled by how the guesses did so far, and in a step that has
begun by how long its tasks took.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.experiment import setup
from bench.experiment.cells import Trial
from bench.records.model import Record
from bench.reporting.steps import Step
from bench.scheduling.stored import StoredRecords
from bench.scheduling.tasks import Task
from bench.system.processes import uninterrupted

# Texts that are encoded to see how fast this machine is.
SAMPLE = 64


def seconds_per_text(trial: Trial, device: str) -> float:
    """Texts of the train split through the encoder itself: those in the cache would cost nothing, and so say nothing.

    They are those of middling length, which fill a batch: encoders pad batches of every length. The first call loads
    weights, and is not timed.
    """
    data, _ = setup.load(trial.dataset.plugin, "train")
    ordered = sorted(data.texts, key=lambda text: len(text.split()))
    middle = max(0, (len(ordered) - SAMPLE) // 2)
    texts = ordered[middle : middle + SAMPLE]
    plugin = trial.encoder.plugin
    where = {"device": device} if hasattr(plugin, "fingerprint") else {}
    if where:
        with uninterrupted():
            import torch  # noqa: F401
    plugin.encode(texts[:1], **where)
    began = time.perf_counter()
    plugin.encode(texts, **where)
    return (time.perf_counter() - began) / len(texts)


class Pace:
    """Expected seconds of steps: by the recipe and the speed of this machine, mended by what was measured since."""

    def __init__(self, per_text: float, stored: StoredRecords):
        self._per_text, self._stored = per_text, stored
        self._guessed = self._taken = 0.0
        self._measured: dict[str, tuple[int, float]] = {}
        """tasks of each step that were run here, and their seconds"""

    def todo(self, step: Step) -> list[Task[Record]]:
        """Tasks that are not on record."""
        return [task for task in step.tasks if self._stored.find(task) is None]

    def expected(self, step: Step, tasks: int | None = None) -> float:
        """Seconds of so many tasks of a step, or of those that are not on record.

        The tasks of a step do the same behind one defense after the other, so that those which have been run tell how
        long the others take. The first may have loaded libraries for all: the guess counts as one more.
        """
        left = len(self.todo(step)) if tasks is None else tasks
        guessed = self._guess(step, 1) * self._correction
        done, seconds = self._measured.get(step.title, (0, 0.0))
        return left * (guessed + seconds) / (1 + done)

    def left(self, steps: Sequence[Step]) -> float:
        return sum(map(self.expected, steps))

    def encoding(self, texts: int) -> float:
        """Seconds that it takes to encode so many texts."""
        return self._per_text * texts

    def encoded(self, texts: int, seconds: float) -> None:
        """So many texts have been encoded: of more of them than the sample, if they are more."""
        if texts >= SAMPLE:
            self._per_text = seconds / texts

    def took(self, step: Step, tasks: int, seconds: float) -> None:
        """So many tasks of a step have been run."""
        if tasks:
            self._guessed += self._guess(step, tasks)
            self._taken += seconds
            done, before = self._measured.get(step.title, (0, 0.0))
            self._measured[step.title] = done + tasks, before + seconds

    def _guess(self, step: Step, tasks: int) -> float:
        return self._per_text * step.texts * tasks / len(step.tasks)

    @property
    def _correction(self) -> float:
        """Above 1 if steps took longer than was thought. A short step is no reason to change one's mind much, so the
        guess counts as one that came true for a minute."""
        return (60 + self._taken) / (60 + self._guessed)
