"""Records on disk: one JSON file per cell, named by what was run and its id."""

from __future__ import annotations

import json
import logging
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from bench.errors import BenchError, DataError
from bench.plugins.training import FINETUNED
from bench.records.model import SCHEMA, AttackRecord, AuditRecord, Record, UtilityRecord
from bench.system import processor
from bench.system.files import read_text, write_text
from bench.system.validation import explain

LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "sentence-transformers", "hideseek")
# Records of training and of audits lie in folders of their own below those of attacks.
UTILITY, AUDIT = "utility", "audit"
FOLDERS = ("", UTILITY, AUDIT)

R = TypeVar("R", bound=Record)

log = logging.getLogger(__name__)


def path_of(folder: Path, record: Record) -> Path:
    return folder / kind_of(record) / f"{configuration(record)}.s{record.seed}.{record.id}.json"


def kind_of(record: Record) -> str:
    """The folder that records of its kind lie in."""
    if isinstance(record, AuditRecord):
        return AUDIT
    return UTILITY if isinstance(record, UtilityRecord) else ""


def configuration(record: Record) -> str:
    """The names of a record's parts, by which its file begins."""
    last = record.attack.name if isinstance(record, AttackRecord) else kind_of(record)
    trained = f"-{FINETUNED}" if record.finetuned else ""
    return ".".join((record.dataset.name, f"{record.encoder.name}{trained}", record.defense.name, last))


def save(folder: Path, record: R) -> R:
    write_text(path_of(folder, record), dump(record))
    return record


def dump(record: Record) -> str:
    return json.dumps(record.to_dict(), indent=1, allow_nan=False) + "\n"


def for_suite(record: R, suite: tuple[str, int] | None) -> R:
    """The record, which was run for this suite, too; a board shows what belongs to the newest version of a suite."""
    if suite is None or record.suites.get(suite[0]) == suite[1]:
        return record
    return record.replace(suites={**record.suites, suite[0]: suite[1]})


def parse(path: Path) -> AttackRecord | UtilityRecord | AuditRecord:
    """The record in a file; DataError says in one line what keeps it from being one."""
    try:
        found = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: not a record, which is a JSON object")
    if found.get("schema") != SCHEMA:
        raise DataError(f"{path}: a record of schema {found.get('schema')!r}; this version reads {SCHEMA}")
    kind = AttackRecord if "attack" in found else _kind_without_attack(found)
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}") from error


def _kind_without_attack(found: dict[str, Any]) -> type[AttackRecord | UtilityRecord | AuditRecord]:
    if "training" in found:
        return UtilityRecord
    return AuditRecord if "verdict" in found else AttackRecord


def read(path: Path) -> AttackRecord | UtilityRecord | AuditRecord | None:
    """The record in a file, or None with a warning if the file is damaged."""
    try:
        return parse(path)
    except DataError as error:
        log.warning("%s: left out, and run again by the command that made it", error)
        return None


def read_all(folder: Path) -> list[AttackRecord | UtilityRecord | AuditRecord]:
    """All records of a folder, those of attacks first."""
    return list(read_files(folder).values())


def read_files(folder: Path) -> dict[Path, AttackRecord | UtilityRecord | AuditRecord]:
    """The same by file."""
    if not folder.is_dir():
        raise BenchError(f"{folder}: no such folder; run some cells first, with --out {folder}")
    return {path: record for path in files(folder) if (record := read(path)) is not None}


def files(folder: Path) -> list[Path]:
    """The files of all records, those of attacks first."""
    return [path for kind in FOLDERS for path in sorted((folder / kind).glob("*.json"))]


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """What a number's last bits may depend on besides this project's code: libraries and the processor."""
    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"processor": processor.name()}
