"""Records as `bench run` and `bench utility` would leave them, without running anything."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bench.errors import UsageError
from bench.experiment.identity import identity
from bench.experiment.provenance import code_of
from bench.plugins.options import split
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, Record, UtilityRecord
from bench.records.store import save

R = TypeVar("R", bound=Record)

REGISTRY = Registry()
PROTOCOL = {"epochs": 1, "candidates": None, "coverage": 1.0, "split": "train"}


def attack_record(
    defense: str = "none",
    attack: str = "rss",
    leak: Sequence[float] | np.ndarray = (1.0, 0.0, 1.0, 1.0),
    *,
    seed: int = 0,
    dataset: str = "cola",
    encoder: str = "minilm",
    epochs: int = 1,
    metric: str = "recall",
    ended: str = "2026-01-01T00:00:00Z",
    protocol: Mapping[str, Any] | None = None,
    random: Mapping[str, float] | None = None,
    **fields: Any,
) -> AttackRecord:
    """A record of these values of leak, one per private example.

    `protocol` and `random` change single entries of the protocol and of the chance level; further keywords replace
    whole fields of the record. The id follows from all of them.
    """
    values = np.asarray(leak, dtype="<f2")
    asked = [defense, attack, seed, dataset, encoder, len(values), epochs, protocol, ended, sorted(fields)]
    chance = {"random": 0.001, "random_low": 0.0, "random_high": 0.002, **(random or {})}
    number = metric_of(float(np.mean(values, dtype=np.float64)), **chance)
    record = {
        **_common(asked, dataset, encoder, defense, seed),
        "attack": {**_plugin(attack), "sees": ["corpus", "encodings"]},
        "protocol": {**PROTOCOL, "examples": len(values), "epochs": epochs, **(protocol or {})},
        "metrics": {"identity": number, metric: number},
        "outcomes": {"metric": metric, "values": base64.b64encode(values.tobytes()).decode()},
        "cost": {"attack_s": 1.5, "peak_mib": 100.0, "ended": ended},
    }
    return _current(_identified(AttackRecord, {**record, **fields}))


def bare_record(attack: str = "rss", defense: str = "none", dataset: str = "demo", /, **changes: Any) -> AttackRecord:
    """The least that a record of an attack must hold, and these fields."""
    about = {
        "id": "0123456789abcdef",
        "dataset": {"name": dataset, "label": dataset, "fingerprint": "d"},
        "encoder": {"name": "minilm", "label": "minilm"},
        "defense": {"name": defense, "label": defense},
        "seed": 0,
        "attack": {"name": attack, "label": attack, "sees": ["corpus", "encodings"]},
        "protocol": {**PROTOCOL, "examples": 10},
    }
    return AttackRecord.model_validate({**about, **changes})


def failed_record(*args: Any, status: str = "failed", error: str = "the dog ate it", **options: Any) -> AttackRecord:
    record = attack_record(*args, **options)
    # Code is made anew: what was not scored depends on other code.
    encoder = record.encoder.replace(fingerprint=f"failed {record.encoder.fingerprint}")  # another id than its twin's
    record = record.replace(status=status, error=error, metrics={}, outcomes=None, encoder=encoder, code={})
    return _current(record.replace(id=identity(record.to_dict())))


def utility_record(
    defense: str, accuracy: float | None, *, seed: int = 0, dataset: str = "sst2", **fields: Any
) -> UtilityRecord:
    record = {
        **_common([defense, seed, dataset, sorted(fields)], dataset, "minilm", defense, seed),
        "metrics": {"accuracy": accuracy},
        "majority": {"accuracy": 0.5},
        "training": {"epochs": 5, "shared": False},
        "cost": {"train_s": 1.0},
    }
    return _current(_identified(UtilityRecord, {**record, **fields}))


def metric_of(value: float, **others: float) -> dict[str, float]:
    low, high = max(value - 0.01, min(value, 0.0)), min(value + 0.01, max(value, 1.0))
    return {"value": value, "low": low, "high": high, **others}


def budget(nominal: float, accounted: float) -> dict[str, dict[str, float]]:
    """What a defense notes of its ε: the one that it promises, and the one that holds for this release."""
    return {"nominal": {"epsilon": nominal}, "accounted": {"epsilon": accounted}}


def write_records(folder: Path, *records: AttackRecord | UtilityRecord) -> Path:
    for record in records:
        save(folder, record)
    return folder


def write_damaged(folder: Path, name: str, record: AttackRecord | UtilityRecord, **changes: Any) -> Path:
    """A file that lies among the records and is none: the record with fields that the type does not allow."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**record.to_dict(), **changes}))
    return path


def _current(record: R) -> R:
    """Made by today's code, unless the test says otherwise or names plugins that there are not."""
    try:
        return record if record.code else record.replace(code=code_of(record, REGISTRY.get))
    except UsageError:
        return record


def _identified(kind: type[R], record: dict[str, Any]) -> R:
    """With the id of what was asked, unless the test gives another."""
    made = kind.model_validate({"id": "", **record})
    return made if made.id else made.replace(id=identity(made.to_dict()))


def _plugin(label: str) -> dict[str, Any]:
    name, pairs = split(label)
    return {"name": name, "label": label, "options": dict(pairs)}


def _common(asked: list[Any], dataset: str, encoder: str, defense: str, seed: int) -> dict[str, Any]:
    return {
        "dataset": {"name": dataset, "fingerprint": "f", "label": dataset, "size": 8551},
        # The id follows from what was asked; what else the test varies is told apart by the weights.
        "encoder": {"name": encoder, "fingerprint": hashlib.sha256(repr(asked).encode()).hexdigest(), "label": encoder},
        "defense": _plugin(defense),
        "seed": seed,
        "versions": {"python": "3.11"},
    }
