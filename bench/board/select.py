"""Which records stand on which board: the newest of each cell, of the newest version of each suite."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.records import store as stored
from bench.records.model import AttackRecord, Record, UtilityRecord

# The board of records that were run for no suite.
ADHOC = "adhoc"

Same = Callable[[Record], tuple[str, ...]]


@dataclass(frozen=True)
class Shelf:
    """What is shown, by suite; the rest stays on file and is counted."""

    boards: dict[str, list[Record]]
    newest: list[Record]
    """the newest record of every cell, whatever it was run for"""
    superseded: dict[str, int]


def read(folder: Path) -> tuple[list[Record], list[Record]]:
    """The records of attacks and of utility in a folder, without those that lack what a table needs."""
    found = stored.read_all(folder)
    return (
        [record for record in found if isinstance(record, AttackRecord)],
        [record for record in found if isinstance(record, UtilityRecord)],
    )


def versions(records: Iterable[Record]) -> dict[str, int]:
    """The newest version of every suite that some record was run for."""
    found: dict[str, int] = {}
    for record in records:
        for name, version in record.get("suites", {}).items():
            found[name] = max(version, found.get(name, version))
    return found


def sort(records: Sequence[Record], same: Same, newest_version: dict[str, int]) -> Shelf:
    """`same` says what must agree for two records to be of one experiment, but for the seed.

    Of records of one cell, made by different code, the newest supersedes the others; it stands on their boards too,
    because a suite names cells, not code.
    """
    newest: dict[tuple[tuple[str, ...], int], Record] = {}
    wanted: dict[tuple[tuple[str, ...], int], dict[str, int]] = defaultdict(dict)
    ordered = sorted({r["id"]: r for r in sorted(records, key=_age)}.values(), key=_age)
    for record in ordered:
        cell = (same(record), record["seed"])
        newest[cell] = record
        for name, version in record.get("suites", {}).items():
            wanted[cell][name] = max(version, wanted[cell].get(name, version))
    boards: dict[str, list[Record]] = defaultdict(list)
    order = sorted(newest)
    for cell in order:
        for name in wanted[cell] or [ADHOC]:
            if name == ADHOC or wanted[cell][name] == newest_version[name]:
                boards[name].append(newest[cell])
    shown = {name: {r["id"] for r in some} for name, some in boards.items()}
    superseded: dict[str, int] = defaultdict(int)
    for record in ordered:
        for name in record.get("suites") or [ADHOC]:
            superseded[name] += record["id"] not in shown.get(name, ())
    return Shelf(dict(boards), [newest[cell] for cell in order], dict(superseded))


def experiment(record: Record) -> tuple[str, ...]:
    """What two records of an attack share that differ in nothing but the seed."""
    public = record["public"] or {}
    names = (record[kind]["label"] for kind in ("dataset", "encoder", "defense", "attack"))
    return (*names, protocol(record), public.get("label", public.get("name", "")))


def training(record: Record) -> tuple[str, ...]:
    """The same for records of utility."""
    names = (record[kind]["label"] for kind in ("dataset", "encoder", "defense"))
    return (*names, json.dumps(record["training"], sort_keys=True))


def protocol(record: Record) -> str:
    """`1000 × 1`, and what else is not as usual."""
    size = record["protocol"]
    parts = [f"{size['examples']} × {size['epochs']}"]
    if size["candidates"] is not None:
        parts.append(f"{size['candidates']} candidates")
    if size["coverage"] < 1:
        parts.append(f"coverage {size['coverage']:g}")
    if size["split"] != "train":
        parts.append(f"queries from {size['split']}")
    if record["public"] and "public" in record["attack"]["sees"]:
        parts.append(f"public {record['public']['name']}")
    if record.get("sealed"):
        parts.append("sealed")
    return ", ".join(parts)


def _age(record: Record) -> tuple[str, str]:
    return record["cost"].get("ended", ""), record["id"]
