"""How long tasks take and how much memory, estimated from earlier records in the results folder."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.errors import DataError
from bench.records import store
from bench.records.model import AttackRecord, Record

# The name of a record's file: dataset, encoder, defense and attack (or `utility`, `audit`); seed; id.
FILE_NAME = re.compile(r"(.+)\.s-?\d+\.\w{16}\.json")
# Records of one configuration that are read: enough for a median; a folder of thousands is not read for an estimate.
MOST_READ = 5


@dataclass(frozen=True)
class Resources:
    seconds: float
    mib: float


class ResourceHistory:
    """What tasks took before: those of the same configuration first, else those of the same attack on anything else."""

    def __init__(self, folder: Path):
        self._files: dict[str, list[Path]] = {}
        for path in store.files(folder):
            if match := FILE_NAME.fullmatch(path.name):
                self._files.setdefault(match[1], []).append(path)
        self._by_configuration: dict[str, list[Resources]] = {}
        self._by_attack: dict[str, list[Resources]] = {}

    def estimate(self, about: Record) -> Resources | None:
        found = self._of_configuration(configuration(about)) or self._of_attack(_attack(about))
        if not found:
            return None
        return Resources(statistics.median(one.seconds for one in found), max(one.mib for one in found))

    def add(self, record: Record) -> None:
        """A record of this very run."""
        used = resources(record)
        if used is not None:
            self._of_configuration(configuration(record)).append(used)
            self._of_attack(_attack(record)).append(used)

    def _of_configuration(self, name: str) -> list[Resources]:
        if name not in self._by_configuration:
            self._by_configuration[name] = _read(self._files.get(name, []))
        return self._by_configuration[name]

    def _of_attack(self, attack: str) -> list[Resources]:
        if attack not in self._by_attack:
            last = [paths[-1] for name, paths in self._files.items() if name.endswith(f".{attack}")]
            self._by_attack[attack] = _read(last)
        return self._by_attack[attack]


class RemainingTime:
    """The time left of a run, by what its tasks took elsewhere and, as they end, by what they take here."""

    def __init__(self, tasks: Iterable[Record], history: ResourceHistory):
        self._left: dict[str, Record] = {about.id: about for about in tasks}
        self._counts = Counter(configuration(about) for about in self._left.values())
        self._examples = {configuration(about): about for about in self._left.values()}
        self._history = history

    def done(self, record: Record) -> None:
        about = self._left.pop(record.id, None)
        if about is not None:
            self._counts[configuration(about)] -= 1
            self._history.add(record)

    def seconds(self, workers: int) -> float | None:
        """None where nothing is known of any task; those of an unknown configuration are taken for average ones."""
        found = {name: self._history.estimate(about) for name, about in self._examples.items()}
        known = {name: estimate.seconds for name, estimate in found.items() if estimate is not None}
        if not known:
            return None
        average = statistics.fmean(known.values())
        total = sum(count * known.get(name, average) for name, count in self._counts.items())
        return total / max(1, min(workers, len(self._left)))


def configuration(about: Record) -> str:
    """The names of a task's parts, as they stand in its file's name."""
    return store.configuration(about)


def resources(record: Record) -> Resources | None:
    """None for a task that failed or never came to its main part: it says nothing of others."""
    cost = record.cost
    if record.status != "ok" or (cost.attack_s is None and cost.train_s is None):
        return None
    return Resources(cost.seconds, cost.peak_mib if isinstance(cost.peak_mib, float) else 0.0)


def format_duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _attack(about: Record) -> str:
    return about.attack.name if isinstance(about, AttackRecord) else store.kind_of(about)


def _read(paths: list[Path]) -> list[Resources]:
    found: list[Resources] = []
    for path in paths[-MOST_READ:]:
        try:
            used = resources(store.parse(path))
        except DataError:  # reported where the record itself is wanted
            continue
        if used is not None:
            found.append(used)
    return found
