"""What is asked for: the record of a cell or of a training run before anything was measured, with its id.

The id hashes names, options, what the attack sees, fingerprints of data and weights, protocol, training and seed. No
source code is in it: the same question keeps its id, and its file, whatever code answers it. Which code did stands in
the record's `code` (bench.experiment.provenance).
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any, TypeVar

from bench import modalities
from bench.errors import UsageError
from bench.experiment.cells import Cell, Chosen, Trial, cells, trials
from bench.experiment.provenance import code_of
from bench.experiment.setup import load, protocol_for
from bench.plugins.protocol import Protocol
from bench.plugins.registry import Entry, Registry
from bench.plugins.training import from_record
from bench.records.model import AttackRecord, AuditRecord, AuditSizes, Record, UtilityRecord
from bench.records.store import versions
from bench.records.values import exact

R = TypeVar("R", bound=Record)
# Of the way in which ids are made.
VERSION = 2
KINDS = ("dataset", "encoder", "defense", "attack")
# What of a plugin's part of a record was asked for; the rest was found out, or is for readers.
ASKED = ("name", "options", "fingerprint", "sees")
# Sentences among which an audit looks for two that are far apart, at the least.
FEWEST = 2
_protocols: dict[tuple[Any, ...], Protocol] = {}


def describe(cell: Cell) -> AttackRecord:
    protocol = _protocol(cell)
    (modality,) = cell.dataset.info.on
    about = _about(cell, ["train"] if protocol.split == "train" else ["train", "dev"])
    about["dataset"] |= {"examples": protocol.examples, "size": len(load(cell.dataset.plugin, "train")[0])}
    about["attack"] = {**_plugin(cell.attack), "sees": list(cell.sees)}
    about["protocol"] = protocol.as_dict()
    about["sbert"] = _scorer(modality)
    about["sealed"] = cell.sealed
    if cell.training:
        about |= {"training": cell.training.asked(), "attacker": cell.attacker}
    return _with_code(AttackRecord.model_validate({**about, "id": identity(about)}), cell)


def describe_utility(trial: Trial, training: dict[str, Any]) -> UtilityRecord:
    about = {**_about(trial, ["train", "dev"]), "training": training}
    return _with_code(UtilityRecord.model_validate({**about, "id": identity(about)}), trial)


def describe_audit(trial: Trial, sizes: AuditSizes) -> AuditRecord:
    """UsageError where the data set is too small for the game."""
    train = load(trial.dataset.plugin, "train")[0]
    available = len(set(train.texts))
    if sizes.game == "canaries" and 2 * sizes.examples > available:
        raise UsageError(
            f"{trial.dataset.name} has {available:,} different examples, and {sizes.examples:,} canaries are drawn "
            f"from two each: lower --canaries to {available // 2:,}"
        )
    if sizes.game != "canaries" and sizes.examples + FEWEST > available:
        raise UsageError(f"{trial.dataset.name} has {available:,} different examples: lower --examples")
    about = {**_about(trial, ["train"]), "protocol": sizes.to_dict()}
    about["dataset"] |= {"size": len(train)}
    return _with_code(AuditRecord.model_validate({**about, "id": identity(about)}), trial)


def identity(about: dict[str, Any]) -> str:
    """The id of a record, from the record alone.

    What is None or false was not asked for and does not count, so that ids stay when a question can have more parts.
    """
    asked: dict[str, Any] = {"identity": VERSION, "seed": about["seed"]}
    for kind in (*KINDS, "public"):
        if about.get(kind):
            asked[kind] = {name: about[kind][name] for name in ASKED if about[kind].get(name) is not None}
    for name in ("protocol", "training"):
        if about.get(name):
            asked[name] = {key: value for key, value in about[name].items() if value is not None}
    for name in ("sbert", "sealed", "attacker"):
        if about.get(name):
            asked[name] = about[name]
    text = json.dumps(exact(asked), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cell_of(registry: Registry, record: AttackRecord) -> Cell:
    """The cell that a record was made from, or is to be made from."""
    axes = {kind: [getattr(record, kind).label] for kind in KINDS} | {"seed": [record.seed]}
    axes["training"] = [from_record(record.training)]
    sizes = {**record.protocol.model_dump(), "public": record.public and record.public.label}
    sizes["attacker"] = record.attacker
    (cell,) = cells(registry, axes, sizes, sealed=record.sealed)
    return cell


def trial_of(registry: Registry, record: UtilityRecord | AuditRecord) -> Trial:
    """The trial that the record of a training run or an audit was made from, or is to be made from."""
    axes = {kind: [getattr(record, kind).label] for kind in KINDS if kind != "attack"} | {"seed": [record.seed]}
    axes["training"] = [record.finetuned]
    (trial,) = trials(registry, axes, public=record.public.label if record.public else "")
    return trial


def forget() -> None:
    """Look at data and weights again. Not at modules: those that are loaded stay as they were."""
    load.cache_clear()
    _weights.cache_clear()
    _scorer.cache_clear()
    _protocols.clear()


def _about(trial: Trial, splits: list[str]) -> dict[str, Any]:
    prints = [load(trial.dataset.plugin, split)[1] for split in splits]
    (modality,) = trial.dataset.info.on
    public = trial.public
    return {
        "dataset": {**_plugin(trial.dataset), "fingerprint": "-".join(prints), "modality": modality},
        "encoder": {**_plugin(trial.encoder), "fingerprint": _weights(trial.encoder.plugin)},
        "defense": _plugin(trial.defense),
        "public": public
        and {"name": public.name, "label": public.label, "fingerprint": load(public.plugin, "public")[1]},
        "seed": trial.seed,
        "versions": versions(),
    }


def _plugin(chosen: Chosen) -> dict[str, Any]:
    return {"name": chosen.name, "options": chosen.options, "label": chosen.label}


def _with_code(record: R, trial: Trial) -> R:
    chosen = [trial.dataset, trial.encoder, trial.defense, *([trial.public] if trial.public else [])]
    if isinstance(trial, Cell):
        chosen.append(trial.attack)
    entries = {(c.entry.kind, c.name): c.entry for c in chosen}

    def find(kind: str, name: str) -> Entry:
        # One that the defense of updates stands in front of is the project's own.
        return entries.get((kind, name)) or Registry().get(kind, name)

    return record.replace(code=code_of(record, find))


def _protocol(cell: Cell) -> Protocol:
    """Counting the different texts of a data set takes a while, and the cells of a suite share them."""
    key = (cell.dataset.plugin, cell.protocol, cell.fixed_size, *((cell.training, cell.seed) if cell.training else ()))
    if key not in _protocols:
        _protocols[key] = protocol_for(cell)
    return _protocols[key]


@lru_cache(maxsize=4)
def _scorer(modality: str) -> str | None:
    """The fingerprint of the weights by which answers are compared."""
    return modalities.get(modality).scorer_fingerprint()


@lru_cache(maxsize=16)
def _weights(encoder: Any) -> str | None:
    """The encoder's fingerprint, looked at once for all cells that share it."""
    return getattr(encoder, "fingerprint", None)
