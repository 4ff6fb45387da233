"""Which stored records answer a task, so that it need not be run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from bench.errors import BenchError
from bench.experiment import integrity, provenance
from bench.experiment.execute import Result
from bench.records import details, guesses, store
from bench.records.model import Record
from bench.scheduling.tasks import AttackTask, Task
from bench.system.files import write_text

log = logging.getLogger(__name__)


class StoredRecords:
    """The results folder of a run. `stale` and `incomplete` collect the records that are there and do not count."""

    def __init__(self, out: Path, *, force: bool = False, details: bool = False):
        self._out, self._force, self._details = out, force, details
        self.stale: dict[str, tuple[str, ...]] = {}
        """components whose code has changed, by record id"""
        self.incomplete: set[str] = set()
        """ids of records without the samples or details that are asked for"""

    def find(self, task: Task[Record], since: float | None = None) -> Record | None:
        """The record that answers a task. Failures do not: they are tried again, a limit may have been raised.

        What was saved after `since` counts however it ended: another run has just done it.
        """
        path = store.path_of(self._out, task.about)
        if not path.exists():
            return None
        fresh = since is not None and path.stat().st_mtime >= since
        found = store.read(path)
        if found is None or found.id != task.about.id:
            return None
        if wrong := integrity.problems(found):
            log.warning("%s: %s: run again", path, wrong[0])
            return None
        if found.status != "ok":
            return found if fresh else None
        if self._force and not fresh:
            return None
        if not self._complete(task, found, path):
            self.incomplete.add(found.id)
            return None
        standing = provenance.compare(found, {**task.about.code, **provenance.scoring_code(found)})
        if standing.status == "stale":
            self.stale[found.id] = standing.changed
            return None
        return found

    def adopt(self, record: Record, task: Task[Record]) -> Record:
        """A stored record, which now belongs to this task's suite, too."""
        tagged = store.for_suite(record, task.subject.suite)
        return record if tagged == record else store.save(self._out, tagged)

    def save(self, task: Task[Record], result: Result) -> Record:
        """Write a result over what was stored under its id; it stays in the suites that it belonged to."""
        if result.items is not None and self._details:
            details.save(store.path_of(self._out, result.record), result.items)
        path = store.path_of(self._out, result.record)
        before = store.read(path) if path.exists() else None
        record = result.record.replace(suites=before.suites if before else {})
        guesses.save(path, result.guess)
        return store.save(self._out, store.for_suite(record, task.subject.suite))

    def check_writable(self) -> None:
        """BenchError now, and not after the first cell has been run."""
        if self._out.exists() and not self._out.is_dir():
            raise BenchError(f"--out {self._out} is a file: choose a folder")
        probe = self._out / ".writable"
        write_text(probe, "")
        probe.unlink(missing_ok=True)

    def notes(self) -> Iterator[str]:
        """How many stored records are run again, and why."""
        if self.stale:
            yield self._stale_note()
        if self.incomplete:
            many = "records lack" if len(self.incomplete) > 1 else "record lacks"
            again = "they are" if len(self.incomplete) > 1 else "it is"
            yield f"{len(self.incomplete)} {many} the samples or details that are asked for: {again} run again"

    def _stale_note(self) -> str:
        components = sorted({name for changed in self.stale.values() for name in changed})
        many = len(self.stale) > 1
        what = f"{len(self.stale)} stale records are" if many else "1 stale record is"
        hint = " (`bench rescore` needs no attacks, where the guess was kept)" if components == ["scoring"] else ""
        return f"{what} run again: the code of {', '.join(components)} has changed since{hint}"

    def _complete(self, task: Task[Record], found: Record, path: Path) -> bool:
        if self._details and isinstance(task, AttackTask) and not details.path_beside(path).exists():
            return False
        return task.answered_by(found)
