"""Records: one JSON file per cell, named by its id."""

from __future__ import annotations

import json
import math
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.system.files import write_text

SCHEMA = 1
# When a cell ended; such texts can be compared.
STAMP = "%Y-%m-%dT%H:%M:%SZ"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "sentence-transformers", "hideseek")
Record = dict[str, Any]


def path_of(folder: Path, record: Record) -> Path:
    if "attack" not in record:
        folder, last = folder / "utility", "utility"
    else:
        last = record["attack"]["name"]
    parts = (record["dataset"]["name"], record["encoder"]["name"], record["defense"]["name"], last)
    return folder / f"{'.'.join(parts)}.s{record['seed']}.{record['id']}.json"


def save(folder: Path, record: Record) -> Record:
    """The record as it is on disk, so that a run and its repetition show the same."""
    stored: Record = rounded(record)
    write_text(path_of(folder, record), json.dumps(stored, indent=1, allow_nan=False) + "\n")
    return stored


def tagged(record: Record, trial: Any) -> Record:
    """The record with the suite that it was run for: a board shows what belongs to the newest version of a suite."""
    if trial.suite is None:
        return record
    name, version = trial.suite
    return {**record, "suites": {**record.get("suites", {}), name: version}}


def read(path: Path) -> Record | None:
    """The record in a file, or None with a word on standard error if the file is damaged."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(record, dict) and record.get("schema") == SCHEMA and {"id", "status", "metrics"} <= record.keys():
            return record
        reason = "not a record of this version"
    except (OSError, ValueError) as error:
        reason = str(error)
    print(f"{path} cannot be used ({reason}): left out, and run again by the command that made it", file=sys.stderr)
    return None


def read_all(folder: Path) -> list[Record]:
    if not folder.is_dir():
        raise BenchError(f"{folder}: no such folder; run some cells first, with --out {folder}")
    found = [read(path) for path in sorted(folder.glob("*.json"))]
    return [record for record in found if record is not None]


def rounded(value: Any) -> Any:
    """Floats to nine decimals and NaN as null: JSON that every reader takes, and that does not hide in last bits."""
    if isinstance(value, float):
        return round(value, 9) if math.isfinite(value) else (None if math.isnan(value) else str(value))
    if isinstance(value, dict):
        return {str(k): rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v) for v in value]
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        return rounded(value.item())
    return value


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
