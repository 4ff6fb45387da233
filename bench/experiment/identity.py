"""The id of a cell or a training run: a hash of all that its numbers depend on."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.encoders.sentence_bert import SentenceBert
from bench.experiment.cells import Cell, Chosen, Trial, cells
from bench.experiment.setup import load, protocol_for
from bench.plugins.protocol import Protocol
from bench.plugins.registry import Registry
from bench.records import fingerprint
from bench.records.store import SCHEMA, Record

KINDS = ("dataset", "encoder", "defense", "attack")
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
    core = ["bench.experiment.setup", "bench.scoring.text", "bench.isolation.view", "bench.isolation.child"]
    if "gradients" in cell.sees:
        core.append("bench.experiment.surfaces.gradients")
    if "images" in cell.dataset.info.on:
        core.append("bench.scoring.images")
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
    return _identified(about, trial, (), ("bench.experiment.setup", "bench.experiment.utility"))


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


@lru_cache(maxsize=16)
def _weights(encoder: Any) -> str | None:
    """The encoder's fingerprint, looked at once for all cells that share it."""
    return getattr(encoder, "fingerprint", None)


def _module(chosen: Chosen) -> str | Path:
    return Path(chosen.entry.module) if chosen.entry.module.endswith(".py") else chosen.entry.module


@lru_cache(maxsize=256)
def _code(modules: tuple[str | Path, ...], contents: tuple[bytes, ...]) -> str:
    """`contents` of the files among them: a plugin may be edited while a worker lives, and is then loaded anew."""
    return fingerprint.fingerprint(modules)


def forget() -> None:
    """Look at data and weights again. Not at modules: those that are loaded stay as they were."""
    load.cache_clear()
    _weights.cache_clear()
    _protocols.clear()
