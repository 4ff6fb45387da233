"""Records: one JSON file per cell, named by an id that hashes all that its numbers depend on."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from . import code
from .encoders import SentenceBert
from .errors import BenchError
from .files import write_text
from .plan import Cell, Chosen, Trial, cells
from .protocol import Protocol
from .registry import Registry
from .scene import load, protocol_for

SCHEMA = 1
# When a cell ended; such texts can be compared.
STAMP = "%Y-%m-%dT%H:%M:%SZ"
KINDS = ("dataset", "encoder", "defense", "attack")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers", "sentence-transformers", "hideseek")

Record = dict[str, Any]
_protocols: dict[tuple[Any, Protocol, bool], Protocol] = {}


def describe(cell: Cell) -> Record:
    """The part of a record that is known before the cell runs, its id included."""
    protocol = _protocol(cell)
    about = {
        **_about(cell, ["train"] if protocol.split == "train" else ["train", "dev"]),
        "attack": {
            "name": cell.attack.name,
            "options": cell.attack.options,
            "sees": list(cell.sees),
        },
        "protocol": protocol.as_dict(),
    }
    core = ["bench.scene", "bench.score", "bench.view", "bench.child"]
    if "gradients" in cell.sees:
        core.append("bench.gradients")
    if "images" in cell.dataset.info.on:
        core.append("bench.picture_score")
    else:
        about["sbert"] = _weights(SentenceBert())
    if cell.sealed:  # another draw of the key, so another record
        about["sealed"] = True
    record = _identified(about, cell, (cell.attack,), tuple(core))
    record["dataset"] |= {"examples": protocol.examples, "size": len(load(cell.dataset.plugin, "train")[0])}
    return record


def describe_utility(trial: Trial, training: dict[str, Any]) -> Record:
    """The same for what a defense costs, which no attack has a part in."""
    about = {**_about(trial, ["train", "dev"]), "training": training}
    return _identified(about, trial, (), ("bench.scene", "bench.utility"))


def cell_of(registry: Registry, record: Record) -> Cell:
    """The cell that a record was made from, or is to be made from."""
    axes = {kind: [record[kind]["label"]] for kind in KINDS} | {"seed": [record["seed"]]}
    public = record["public"] and record["public"]["label"]
    (cell,) = cells(registry, axes, {**record["protocol"], "public": public}, sealed=bool(record.get("sealed")))
    return cell


def _protocol(cell: Cell) -> Protocol:
    """Counting the different texts of a data set takes a while, and the cells of a suite share them."""
    key = (cell.dataset.plugin, cell.protocol, cell.fixed_size)
    if key not in _protocols:
        _protocols[key] = protocol_for(cell)
    return _protocols[key]


def _about(trial: Trial, splits: list[str]) -> Record:
    prints = [load(trial.dataset.plugin, split)[1] for split in splits]
    public = trial.public
    return {
        "dataset": {"name": trial.dataset.name, "options": trial.dataset.options, "fingerprint": "-".join(prints)},
        "encoder": {
            "name": trial.encoder.name,
            "options": trial.encoder.options,
            "fingerprint": _weights(trial.encoder.plugin),
        },
        "defense": {"name": trial.defense.name, "options": trial.defense.options},
        "public": public and {"name": public.name, "fingerprint": load(public.plugin, "public")[1]},
        "seed": trial.seed,
    }


def _identified(about: Record, trial: Trial, more: tuple[Chosen, ...], core: tuple[str, ...]) -> Record:
    """With an id over all of it and over the source code behind it, and labels for readers, which do not count.

    `core` are the modules that decide numbers whatever the plugins are; those they import follow from them.
    """
    plugins = (trial.dataset, trial.encoder, trial.defense, *more, *([trial.public] if trial.public else []))
    modules = (*core, *map(_module, plugins))
    contents = tuple(module.read_bytes() for module in modules if isinstance(module, Path))
    basis = {"schema": SCHEMA, "code": _code(modules, contents), **about}
    identity = hashlib.sha256(json.dumps(basis, sort_keys=True, default=str).encode()).hexdigest()[:16]
    labelled = {
        kind: {**about[kind], "label": getattr(trial, kind).label} for kind in (*KINDS, "public") if about.get(kind)
    }
    return {"schema": SCHEMA, "id": identity, "status": "ok", **about, **labelled}


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


def tagged(record: Record, trial: Trial) -> Record:
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


@lru_cache(maxsize=16)
def _weights(encoder: Any) -> str | None:
    """The encoder's fingerprint, looked at once for all cells that share it."""
    return getattr(encoder, "fingerprint", None)


def _module(chosen: Chosen) -> str | Path:
    return Path(chosen.entry.module) if chosen.entry.module.endswith(".py") else chosen.entry.module


@lru_cache(maxsize=256)
def _code(modules: tuple[str | Path, ...], contents: tuple[bytes, ...]) -> str:
    """`contents` of the files among them: a plugin may be edited while a worker lives, and is then loaded anew."""
    return code.fingerprint(modules)


def forget() -> None:
    """Look at data and weights again. Not at modules: those that are loaded stay as they were."""
    load.cache_clear()
    _weights.cache_clear()
    _protocols.clear()
