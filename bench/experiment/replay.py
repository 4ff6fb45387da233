"""Repeats the run behind a record and says whether its numbers come out again, bit for bit. Saves nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.errors import UsageError
from bench.experiment import identity, utility
from bench.experiment.cells import Cell
from bench.experiment.execute import Stage, execute
from bench.experiment.training import Training
from bench.isolation import process, sandbox
from bench.plugins.registry import Registry
from bench.records import store
from bench.records.model import AttackRecord, Record, UtilityRecord

# What a repetition must give again. Times, memory and versions may differ.
COMPARED = ("status", "error", "metrics", "outcomes", "majority", "held_out", "notes", "details")
TIMES = "seconds"


@dataclass(frozen=True)
class Difference:
    """A value that came out differently."""

    where: str
    before: Any
    after: Any

    @property
    def size(self) -> float:
        """Relative to the larger of the two, and at least to 1; infinite where they are no numbers."""
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in (self.before, self.after)):
            return math.inf
        return abs(self.before - self.after) / max(1.0, abs(self.before), abs(self.after))

    def __str__(self) -> str:
        return f"{self.where}: {self.before} on record, {self.after} now"


def compare(old: Record, new: Record) -> list[Difference]:
    """Every measured value in which two records of one cell differ."""
    before, after = old.to_dict(), new.to_dict()
    return [found for key in COMPARED for found in _differences(key, before.get(key), after.get(key))]


def open_record(path: Path) -> Record:
    if not path.is_file():
        raise UsageError(f"--replay {path}: no such file; give the path of a record, a .json file in --out")
    record = store.read(path)
    if record is None or "attack" not in record:
        raise UsageError(f"--replay {path}: not the record of an attack")
    if record.get("sealed"):
        if record["salt"] is None:
            raise UsageError(f"--replay {path}: a sealed cell that failed before its attack ran has no salt to replay")
        sandbox.require()
    return record


def run(
    cell: Cell, old: Record, device: str, limits: process.Limits, stage: Stage, note: Callable[[str], None]
) -> tuple[Record, list[Difference]]:
    """The record of the repetition, and every number in which it differs from the old one."""
    about = identity.describe(cell)
    if about.id != old.id:
        note("data or weights have changed since this record was made; its numbers may not come out")
    elif about.code != old.code:
        changed = ", ".join(name for name, code in about.code.items() if code != old.code.get(name))
        note(f"code has changed since this record was made ({changed}); its numbers may not come out")
    # With as many threads as then: the last bits of a sum may depend on it.
    limits = replace(limits, threads=old["cost"].get("threads"))
    record = execute(cell, about, device=device, limits=limits, stage=stage, salt=old["salt"]).record
    return record, compare(old, record)


def repeat(record: Record, registry: Registry, device: str, stage: Stage) -> Record:
    """The record of another run of the same cell or training, with as many threads: sums may depend on it."""
    if isinstance(record, AttackRecord):
        cell = identity.cell_of(registry, record)
        limits = process.Limits(threads=record.cost.threads)
        return execute(cell, identity.describe(cell), device=device, limits=limits, stage=stage, salt=record.salt)[0]
    assert isinstance(record, UtilityRecord)
    trial = identity.trial_of(registry, record)
    about = identity.describe_utility(trial, record.training)
    measured = utility.measure(trial, Training(**record.training), device=device, progress=stage)
    return about.replace(cost={"train_s": measured.pop("seconds")}, **measured)


def _differences(where: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(key for key in {*old, *new} if TIMES not in key):
            yield from _differences(f"{where}.{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{where}[{i}]", one, other)
    elif old != new:
        yield Difference(where, old, new)
