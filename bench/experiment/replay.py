"""Repeats the run behind a record and says whether its numbers come out again, bit for bit. Saves nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.errors import DataError, UsageError
from bench.experiment import audit, identity, provenance, utility
from bench.experiment.cells import Cell, Trial
from bench.experiment.execute import Stage, execute
from bench.isolation import process, sandbox
from bench.plugins.registry import Registry
from bench.records import store
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
from bench.scoring import per_example

# What was asked, which a repetition takes from the record: it differs only where the record says of itself what it is
# not, or where data, weights or a plugin are others.
ASKED = (
    *("dataset", "encoder", "defense", "attack", "public", "protocol", "training", "seed", "sbert", "sealed"),
    *("attacker",),
)
# What a repetition must give again: all that a board shows. Times, memory and versions may differ.
MEASURED = (
    *("status", "error", "metrics", "outcomes", "samples", "majority", "held_out", "notes", "details"),
    *("claimed", "actual", "audited", "verdict", "ceiling", "delta"),
)
COMPARED = (*ASKED, *MEASURED)
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
        before, after = float(self.before), float(self.after)
        return abs(before - after) / max(1.0, abs(before), abs(after))

    def __str__(self) -> str:
        return f"{self.where}: {self.before} on record, {self.after} now"


def compare(old: Record, new: Record) -> list[Difference]:
    """Every measured value in which two records of one cell differ."""
    before, after = _shown(old), _shown(new)
    return [found for key in COMPARED for found in _differences(key, before.get(key), after.get(key))]


def _shown(record: Record) -> dict[str, Any]:
    """As its file has it, with outcomes as numbers, so that a difference says which example it is of."""
    found = record.to_dict()
    if isinstance(record, AttackRecord) and (values := per_example.values(record)) is not None:
        numbers = [None if math.isnan(value) else value for value in values.tolist()]
        found["outcomes"] = {"metric": found["outcomes"]["metric"], "values": numbers}
    if not found.get("samples"):  # none were wanted, or the attack names no sentences
        found["samples"] = None
    return found


def open_record(path: Path) -> Record:
    """The record of an attack, a training run or an audit that is to be repeated."""
    if not path.is_file():
        raise UsageError(f"--replay {path}: no such file; give the path of a record, a .json file in --out")
    try:
        record = store.parse(path)
    except DataError as error:
        raise UsageError(f"--replay {error}") from error
    if isinstance(record, AttackRecord) and record.sealed:
        if record.salt is None:
            raise UsageError(f"--replay {path}: a sealed cell that failed before its attack ran has no salt to replay")
        sandbox.require()
    return record


def subject_of(registry: Registry, record: Record) -> Trial:
    """The cell that was attacked, or the trial that was trained on or audited."""
    if isinstance(record, AttackRecord):
        return identity.cell_of(registry, record)
    assert isinstance(record, UtilityRecord | AuditRecord)
    return identity.trial_of(registry, record)


def run(
    subject: Trial, old: Record, device: str, limits: process.Limits, stage: Stage, note: Callable[[str], None]
) -> tuple[Record, list[Difference]]:
    """The record of the repetition, and every number in which it differs from the old one."""
    about = _describe(subject, old)
    code = {**about.code, **provenance.scoring_code(old)}
    if about.id != old.id:
        note("data or weights have changed since this record was made; its numbers may not come out")
    elif code != old.code:
        changed = ", ".join(name for name in code if code[name] != old.code.get(name))
        note(f"code has changed since this record was made ({changed}); its numbers may not come out")
    new = _again(subject, about, old, device, limits, stage)
    return new, compare(old, new)


def repeat(record: Record, registry: Registry, device: str, stage: Stage) -> Record:
    """The record of another run of the same cell or training."""
    subject = subject_of(registry, record)
    return _again(subject, _describe(subject, record), record, device, process.Limits(), stage)


def _describe(subject: Trial, old: Record) -> Record:
    if isinstance(subject, Cell):
        return identity.describe(subject)
    if isinstance(old, AuditRecord):
        return identity.describe_audit(subject, old.protocol)
    assert isinstance(old, UtilityRecord)
    return identity.describe_utility(subject, old.training)


def _again(subject: Trial, about: Record, old: Record, device: str, limits: process.Limits, stage: Stage) -> Record:
    if isinstance(about, UtilityRecord):
        return utility.execute(subject, about, device=device, stage=stage)
    if isinstance(about, AuditRecord):
        return audit.execute(subject, about, device=device, stage=stage)
    assert isinstance(subject, Cell)
    assert isinstance(about, AttackRecord)
    assert isinstance(old, AttackRecord)
    # With as many threads as then: the last bits of a sum may depend on it.
    limits = replace(limits, threads=old.cost.threads)
    subject = keeping(subject, old)
    return execute(subject, about, device=device, limits=limits, stage=stage, salt=old.salt).record


def keeping(cell: Cell, record: AttackRecord) -> Cell:
    """The cell, with as many samples to keep as a record has."""
    samples = record.samples or []
    return replace(cell, samples=len(samples), answers=all(sample.answer is not None for sample in samples))


def _differences(where: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(key for key in {*old, *new} if TIMES not in key):
            yield from _differences(f"{where}.{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{where}[{i}]", one, other)
    elif old != new:
        yield Difference(where, old, new)
