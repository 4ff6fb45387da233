"""Which records stand on which board: the newest of each cell, of the newest version of each suite."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from bench.experiment import integrity
from bench.records import store
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord

# The board of records that were run for no suite.
ADHOC = "adhoc"

R = TypeVar("R", bound=Record)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Selection(Generic[R]):
    """Records by the suites whose boards show them; the others stay on file and are counted."""

    boards: dict[str, list[R]]
    newest: list[R]
    """the newest record of every cell, whatever it was run for"""
    superseded: dict[str, int]


def read(folder: Path) -> tuple[list[AttackRecord], list[UtilityRecord], list[AuditRecord]]:
    """The records of attacks, of utility and of audits in a folder; files that are damaged, or cannot be what they
    say, are left out, with a warning."""
    files = store.read_files(folder)
    problems = integrity.check_folder(folder, files)
    for problem in problems:
        log.warning("%s: left out; bench records verify lists such records", problem)
    found = integrity.usable(files, problems)
    return (
        [record for record in found if isinstance(record, AttackRecord)],
        [record for record in found if isinstance(record, UtilityRecord)],
        [record for record in found if isinstance(record, AuditRecord)],
    )


def newest_versions(records: Iterable[Record]) -> dict[str, int]:
    """The newest version of every suite that some record was run for."""
    found: dict[str, int] = {}
    for record in records:
        for name, version in _versions(record):
            found[name] = max(version, found.get(name, version))
    return found


def by_suite(
    records: Sequence[R], experiment_of: Callable[[R], tuple[str, ...]], newest_version: dict[str, int]
) -> Selection[R]:
    """`experiment_of` says what two records of one experiment share, which differ in nothing but the seed.

    Of several records of one cell the newest supersedes the others; it stands on their boards too, because a suite
    names cells, not code.
    """
    newest: dict[tuple[tuple[str, ...], int], R] = {}
    suites: dict[tuple[tuple[str, ...], int], dict[str, int]] = defaultdict(dict)
    ordered = sorted({r.id: r for r in sorted(records, key=_age)}.values(), key=_age)
    for record in ordered:
        cell = (experiment_of(record), record.seed)
        newest[cell] = record
        for name, version in _versions(record):
            suites[cell][name] = max(version, suites[cell].get(name, version))
    boards: dict[str, list[R]] = defaultdict(list)
    order = sorted(newest)
    for cell in order:
        for name in suites[cell] or [ADHOC]:
            if name == ADHOC or suites[cell][name] == newest_version.get(name):
                boards[name].append(newest[cell])
    shown = {name: {r.id for r in some} for name, some in boards.items()}
    superseded: dict[str, int] = defaultdict(int)
    for record in ordered:
        for name in record.suites or [ADHOC]:
            superseded[name] += record.id not in shown.get(name, ())
    return Selection(dict(boards), [newest[cell] for cell in order], dict(superseded))


def _versions(record: Record) -> Iterator[tuple[str, int]]:
    """The suites of a record. Of a suite of this project no version beyond its file's: one record that claims such a
    version would empty the board."""
    for name, version in record.suites.items():
        known = integrity.suite_version(name)
        if known is None or version <= known:
            yield name, version


def attack_experiment(record: AttackRecord) -> tuple[str, ...]:
    """What two records of an attack share that differ in nothing but the seed."""
    names = (record.dataset.label, record.model, record.defense.label, record.attack.label)
    return (*names, protocol(record), record.public.label if record.public else "")


def training_experiment(record: UtilityRecord) -> tuple[str, ...]:
    """The same for records of utility."""
    return (record.dataset.label, record.model, record.defense.label, training_key(record))


def audit_experiment(record: AuditRecord) -> tuple[str, ...]:
    """The same for audits."""
    names = (record.dataset.label, record.model, record.defense.label)
    return (*names, audit_protocol(record), record.public.label if record.public else "")


def audit_protocol(record: AuditRecord) -> str:
    """`pair, 4 × 50, 20,000 runs`: the game, examples × encodings of each, runs of each of two data sets."""
    size = record.protocol
    parts = [size.game, f"{size.examples} × {size.epochs}"]
    parts += [f"{size.trials:,} runs"] if size.trials else []
    return ", ".join([*parts, *([f"δ = {size.delta:g}"] if size.delta is not None else [])])


def training_key(record: UtilityRecord) -> str:
    return json.dumps(record.training, sort_keys=True)


def protocol(record: AttackRecord) -> str:
    """`1000 × 1` (private examples × encodings of each), and what differs from the defaults."""
    size = record.protocol
    parts = [f"{size.examples} × {size.epochs}"]
    if size.candidates is not None:
        parts.append(f"{size.candidates} candidates")
    if size.coverage < 1:
        parts.append(f"coverage {size.coverage:g}")
    if size.batch is not None:
        parts[0] = f"{size.examples} in batches of {size.batch}"
        parts += size.update.split(",") if size.update else []
    if size.split != "train":
        parts.append(f"queries from {size.split}")
    if record.public and "public" in record.attack.sees:
        parts.append(f"public {record.public.name}")
    if "pairs" in record.attack.sees:
        pairs = f"{record.notes.get('pairs', 'some')} known pairs"
        parts.append(f"{pairs} of {record.public.name}" if record.public else pairs)
    if record.attacker not in (None, "current"):
        parts.append(f"attacker holds the {record.attacker} encoder")
    if record.sealed:
        parts.append("sealed")
    return ", ".join(parts)


def _age(record: Record) -> tuple[str, str]:
    return record.cost.ended, record.id
