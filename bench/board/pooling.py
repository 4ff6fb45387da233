"""One experiment's records, pooled over seeds: a cell of the board."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from bench.board import select
from bench.plugins.registry import Registry
from bench.records.model import Record, Sample
from bench.records.store import path_of
from bench.scoring import per_example
from bench.scoring.metrics import METRICS

# Metrics that say which share of the private examples an attack found; by these defenses are ranked.
LEAKS = ("recall", "success")
# Of pictures the random level is that of somebody who holds the private ones and hands them out at random. An attack
# that made one up pixel by pixel is better than that, however seldom it does.
PICTURES = {"mse", "psnr"}
PUBLISHED = Path("leaderboards") / "records"

Metric = dict[str, Any]


class Pooled(NamedTuple):
    value: float
    low: float
    high: float
    random: float | None = None
    random_low: float | None = None
    random_high: float | None = None


def cell(records: Sequence[Record]) -> dict[str, Any]:
    """What the board says of records that differ in the seed only."""
    first, good = records[0], [r for r in records if r["status"] == "ok"]
    metric = headline(good)
    main = pooled([r["metrics"].get(metric) for r in good]) if metric else None
    names = {m for r in good for m in r["metrics"]}
    order = [*(m for m in METRICS if m in names), *sorted(names - set(METRICS))]
    found = {m: pooled([r["metrics"].get(m) for r in good]) for m in order}
    failed = [r for r in records if r["status"] != "ok"]
    seconds = [r["cost"]["attack_s"] for r in good if r["cost"].get("attack_s") is not None]
    memory = [r["cost"]["peak_mib"] for r in good if r["cost"].get("peak_mib") is not None]
    marks = [
        *(["random"] if main and not PICTURES & names and at_random(main) else []),
        *(["failed"] if failed else []),
        *(["sealed"] if first.get("sealed") else []),
    ]
    return {
        **{kind: first[kind]["label"] for kind in ("dataset", "encoder", "defense", "attack")},
        "sees": list(first["attack"]["sees"]),
        "protocol": select.protocol(first),
        "metric": metric,
        **dict(zip(Pooled._fields, map(rounded, main or [None] * len(Pooled._fields)), strict=True)),
        "metrics": {m: [rounded(part) for part in p[:4]] for m, p in found.items() if p},
        "seeds": [r["seed"] for r in records],
        "ids": [r["id"] for r in records],
        "failed": [{**{k: r[k] for k in ("id", "seed", "status")}, "error": r.get("error")} for r in failed],
        "cost": {
            "attack_s": rounded(sum(seconds) / len(seconds)) if seconds else None,
            "peak_mib": max(memory, default=None),
        },
        "epsilon": epsilon(records),
        "marks": marks,
        "samples": [_sample(sample) for r in good for sample in r.samples or []],
        "command": command(records),
    }


def headline(records: Sequence[Record]) -> str | None:
    """The metric that records are ranked by, else the first that they have."""
    said = [name for r in records if (name := per_example.headline(r))]
    names = {m for r in records for m, v in r["metrics"].items() if _number((v or {}).get("value"))}
    return next((m for m in (*said, *LEAKS, *METRICS) if m in names), None)


def pooled(metrics: Iterable[Metric | None]) -> Pooled | None:
    """Mean over seeds. Seeds draw their own examples, so half-widths add as independent errors do.

    That they draw from the same data is left out: a record does not say which text a value belongs to.
    """
    some = [m for m in metrics if m and _number(m.get("value"))]
    if not some:
        return None
    chance = [m for m in some if _number(m.get("random"))]
    beside = _spread(chance, "random", "random_low", "random_high") if chance else ()
    return Pooled(*_spread(some, "value", "low", "high"), *beside)


def at_random(metric: Pooled) -> bool:
    """No better than guessing: the interval begins within, or below, what 95 % of random attackers reach."""
    return metric.random_high is not None and metric.low <= metric.random_high


def epsilon(records: Iterable[Record]) -> dict[str, float] | None:
    """As claimed, and as it holds for the most exposed example of any seed."""
    some = [r["notes"] for r in records if "accounted" in (r.get("notes") or {})]
    notes = max(some, key=lambda n: float(n["accounted"]["epsilon"]), default=None)
    return notes and {word: rounded(notes[word]["epsilon"]) for word in ("nominal", "accounted")}


def command(records: Sequence[Record], file: Path | None = None) -> str:
    """What repeats the numbers. A sealed run cannot be drawn again from its seed, only from its record.

    Every size is given, also where it is the usual one: an attack may have a protocol of its own, which what is left
    out would be taken from. `--plugin FILE` stands for the file of a plugin that is none of this project's.
    """
    first = records[0]
    plugins = ["--plugin", "FILE"] if strange(first) else []
    if first.get("sealed"):
        path = file or path_of(PUBLISHED, first)
        return shlex.join(["bench", "run", "--replay", path.as_posix(), *plugins])
    kinds = [kind for kind in ("defense", "attack", "dataset", "encoder") if kind in first]
    words = ["bench", "run" if "attack" in first else "utility"]
    words += [word for kind in kinds for word in (f"--{kind}", first[kind]["label"])]
    words += ["--seed", *(str(r["seed"]) for r in records)]
    if "attack" not in first:
        words += ["--train-epochs", str(first["training"]["epochs"]), *["--shared-layer"] * first["training"]["shared"]]
        return shlex.join([*words, *plugins])
    size = {**first["protocol"], "public": first["public"] and first["public"].get("label")}
    for name, value in size.items():
        if value is not None:
            words += [f"--{name}", repr(value) if isinstance(value, float) else str(value)]
    return shlex.join([*words, *plugins])


def strange(record: Record) -> list[str]:
    """The plugins of a record that this project does not bring.

    By name alone, and whatever is installed: a board is to be the same on every machine.
    """
    kinds = {"defense": "defense", "attack": "attack", "dataset": "dataset", "encoder": "encoder", "public": "dataset"}
    found = [(kind, record[part]["name"]) for part, kind in kinds.items() if record.get(part)]
    return [f"{kind} {name}" for kind, name in dict.fromkeys(found) if name not in _own(kind)]


@lru_cache(maxsize=8)
def _own(kind: str) -> frozenset[str]:
    return frozenset(name for name, entry in Registry().of(kind).items() if entry.built_in)


def rounded(value: float | None) -> Any:
    return None if value is None else round(float(value), 4)


def _spread(metrics: Sequence[Metric], middle: str, lower: str, upper: str) -> tuple[float, float, float]:
    n = len(metrics)
    mean = sum(m[middle] for m in metrics) / n
    below = sum((m[middle] - m[lower]) ** 2 for m in metrics if _number(m.get(lower))) ** 0.5 / n
    above = sum((m[upper] - m[middle]) ** 2 for m in metrics if _number(m.get(upper))) ** 0.5 / n
    return mean, mean - below, mean + above


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _sample(sample: Sample) -> dict[str, Any]:
    return {name: value for name, value in sample.to_dict().items() if value is not None or name == "answer"}
