"""The command that repeats records, and which of their plugins somebody else brings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.experiment.utility import NET
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
from bench.records.store import path_of

PUBLISHED = Path("leaderboards") / "records"


def repeat_command(records: Sequence[Record], file: Path | None = None) -> str:
    """What one types to get the same numbers. A sealed run cannot be drawn again from its seed, only from its record.

    Every size is given, also the default one: an attack may have a protocol of its own, and sizes left out would be
    taken from there. `--plugin FILE` stands for the file of a plugin that this project does not bring.
    """
    first = records[0]
    plugins = ["--plugin", "FILE"] if foreign_plugins(first) else []
    if isinstance(first, AttackRecord) and first.sealed:
        path = file or path_of(PUBLISHED, first)
        return shlex.join(["bench", "run", "--replay", path.as_posix(), *plugins])
    if isinstance(first, AttackRecord):
        words = ["bench", "run", *_names(defense=first.defense, attack=first.attack, **_data(first))]
        words += [*_seeds(records), *_sizes(first)]
    elif isinstance(first, AuditRecord):
        words = ["bench", "audit", *_names(defense=first.defense, **_data(first)), *_seeds(records), *_game(first)]
    else:
        words = ["bench", "utility", *_names(defense=first.defense, **_data(first)), *_seeds(records)]
        words += _training(first) if isinstance(first, UtilityRecord) else []
    return shlex.join([*words, *plugins])


def foreign_plugins(record: Record) -> list[str]:
    """The plugins of a record that this project does not bring, such as `attack mine`.

    By name alone, and whatever is installed: a board is to be the same on every machine.
    """
    found = [("defense", record.defense.name)]
    if isinstance(record, AttackRecord):
        found.append(("attack", record.attack.name))
    found += [("dataset", record.dataset.name), ("encoder", record.encoder.name)]
    if record.public:
        found.append(("dataset", record.public.name))
    return [f"{kind} {name}" for kind, name in dict.fromkeys(found) if name not in _built_in(kind)]


def _data(record: Record) -> dict[str, Any]:
    return {"dataset": record.dataset, "encoder": record.encoder}


def _names(**plugins: Any) -> list[str]:
    return [word for kind, plugin in plugins.items() for word in (f"--{kind}", plugin.label)]


def _seeds(records: Sequence[Record]) -> list[str]:
    return ["--seed", *(str(r.seed) for r in records)]


def _sizes(record: AttackRecord) -> list[str]:
    sizes = {**record.protocol.to_dict(), "public": record.public.label if record.public else None}
    if record.finetuned:
        sizes |= {"training": record.finetuned.label, "attacker": record.attacker}
    return [
        word
        for name, value in sizes.items()
        if value is not None
        for word in (f"--{name}", repr(value) if isinstance(value, float) else str(value))
    ]


def _game(record: AuditRecord) -> list[str]:
    sizes = record.protocol.to_dict()
    if record.protocol.game == "canaries":
        sizes["canaries"] = sizes.pop("examples")
    sizes["public"] = record.public.label if record.public else None
    return [word for name, value in sizes.items() if value is not None for word in (f"--{name}", str(value))]


def _training(record: UtilityRecord) -> list[str]:
    if record.finetuned:
        return ["--training", record.finetuned.label]
    if record.training.get("head") == NET:
        return []  # its options are the encoder's
    shared = ["--shared-layer"] if record.training.get("shared") else []
    return ["--train-epochs", str(record.training.get("epochs", 1)), *shared]


@lru_cache(maxsize=8)
def _built_in(kind: str) -> frozenset[str]:
    return frozenset(name for name, entry in Registry().of(kind).items() if entry.built_in)
