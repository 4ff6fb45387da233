"""Records as `bench run` and `bench utility` would leave them, without running anything."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.records.store import path_of

Record = dict[str, Any]


def attack_record(
    defense: str = "none",
    attack: str = "rss",
    leak: Sequence[float] | np.ndarray = (1.0, 0.0, 1.0, 1.0),
    *,
    seed: int = 0,
    dataset: str = "cola",
    encoder: str = "minilm",
    suites: dict[str, int] | None = None,
    epochs: int = 1,
    metric: str = "recall",
    ended: str = "2026-01-01T00:00:00Z",
    **more: Any,
) -> Record:
    values = np.asarray(leak, dtype="<f2")
    value = float(np.mean(values, dtype=np.float64))
    size = {"examples": len(values), "epochs": epochs, "candidates": None, "coverage": 1.0, "split": "train"}
    whole = [defense, attack, seed, dataset, encoder, size, ended, repr(sorted(more))]
    numbers = {"value": value, "low": value - 0.01, "high": value + 0.01}
    chance = {"random": 0.001, "random_low": 0.0, "random_high": 0.002}
    record = {
        "schema": 1,
        "id": hashlib.sha256(repr(whole).encode()).hexdigest()[:16],
        "status": "ok",
        "dataset": {"name": dataset, "options": {}, "fingerprint": "f", "label": dataset, "size": 8551},
        "encoder": {"name": encoder, "options": {}, "fingerprint": "e", "label": encoder},
        "defense": {"name": defense.partition(":")[0], "options": {}, "label": defense},
        "attack": {"name": attack, "options": {}, "label": attack, "sees": ["corpus", "encodings"]},
        "public": None,
        "seed": seed,
        "protocol": size,
        "metrics": {"identity": {**numbers, **chance}, metric: {**numbers, **chance}},
        "cost": {"attack_s": 1.5, "peak_mib": 100.0, "ended": ended},
        "versions": {"python": "3.11"},
        "salt": None,
        "error": None,
        "notes": {},
        "outcomes": {"metric": metric, "values": base64.b64encode(values.tobytes()).decode()},
        **({"suites": suites} if suites else {}),
    }
    return {**record, **more}


def failed_record(*args: Any, status: str = "failed", error: str = "the dog ate it", **options: Any) -> Record:
    record = attack_record(*args, **options)
    del record["outcomes"]
    return {**record, "status": status, "error": error, "metrics": {}, "id": record["id"][::-1]}


def utility_record(
    defense: str, accuracy: float | None, *, seed: int = 0, dataset: str = "sst2", suites: dict[str, int] | None = None
) -> Record:
    record = attack_record(defense, seed=seed, dataset=dataset, suites=suites)
    for part in ("attack", "protocol", "outcomes", "salt"):
        del record[part]
    training = {"epochs": 5, "shared": False}
    numbers = {"metrics": {"accuracy": accuracy}, "majority": {"accuracy": 0.5}, "training": training}
    return {**record, **numbers, "id": f"u{record['id'][1:]}", "cost": {"train_s": 1.0}}


def write_records(folder: Path, *records: Record) -> Path:
    for record in records:
        path = path_of(folder, record)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    return folder
