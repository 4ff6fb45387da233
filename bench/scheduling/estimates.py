"""How long cells take and how much memory, judged by earlier records in the results folder."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.experiment.identity import KINDS
from bench.records.model import Record

# A record's file name: the four names of its cell, seed, id.
NAME = re.compile(r"(.+)\.s-?\d+\.[0-9a-f]{16}\.json")
# Records of a kind that are read: enough for a median, and a folder of thousands is not read for an estimate.
MOST = 5


@dataclass(frozen=True)
class Cost:
    seconds: float
    mib: float


class Costs:
    """What cells of a kind cost: the same names on record first, then the same attack on whatever else."""

    def __init__(self, folder: Path):
        self._files: dict[str, list[Path]] = {}
        for path in sorted(folder.glob("*.json")):
            if match := NAME.fullmatch(path.name):
                self._files.setdefault(match[1], []).append(path)
        self._read: dict[str, list[Cost]] = {}
        self._by_attack: dict[str, list[Cost]] = {}

    def of(self, about: Record) -> Cost | None:
        found = self._exactly(kind_of(about)) or self._on_anything(about["attack"]["name"])
        if not found:
            return None
        return Cost(statistics.median(cost.seconds for cost in found), max(cost.mib for cost in found))

    def learn(self, record: Record) -> None:
        """A record of this very run."""
        cost = cost_of(record)
        if cost is not None:
            self._exactly(kind_of(record)).append(cost)
            self._on_anything(record["attack"]["name"]).append(cost)

    def _exactly(self, kind: str) -> list[Cost]:
        if kind not in self._read:
            self._read[kind] = _costs(self._files.get(kind, []))
        return self._read[kind]

    def _on_anything(self, attack: str) -> list[Cost]:
        if attack not in self._by_attack:
            paths = [path for kind, some in self._files.items() if kind.endswith(f".{attack}") for path in some[-1:]]
            self._by_attack[attack] = _costs(paths)
        return self._by_attack[attack]


class Forecast:
    """The time left of a run, by what its cells cost elsewhere and, as they end, by what they cost here."""

    def __init__(self, abouts: Iterable[Record], costs: Costs):
        self._left: dict[str, Record] = {about["id"]: about for about in abouts}
        self._kinds = Counter(kind_of(about) for about in self._left.values())
        self._examples = {kind_of(about): about for about in self._left.values()}
        self._costs = costs

    def done(self, record: Record) -> None:
        about = self._left.pop(record["id"], None)
        if about is not None:
            self._kinds[kind_of(about)] -= 1
            self._costs.learn(record)

    def seconds(self, workers: int) -> float | None:
        """None where nothing is known of any cell; cells of an unknown kind are taken for average ones."""
        known = {kind: cost.seconds for kind, a in self._examples.items() if (cost := self._costs.of(a)) is not None}
        if not known:
            return None
        average = statistics.fmean(known.values())
        total = sum(count * known.get(kind, average) for kind, count in self._kinds.items())
        return total / max(1, min(workers, len(self._left)))


def kind_of(about: Record) -> str:
    return ".".join(about[kind]["name"] for kind in KINDS)


def cost_of(record: Record) -> Cost | None:
    """None for a cell that did not come to a good end, or too early to say anything of others."""
    cost = record["cost"]
    if record["status"] != "ok" or "attack_s" not in cost:
        return None
    return Cost(spent(record), cost.get("peak_mib", 0.0))


def spent(record: Record) -> float:
    """Seconds that a cell took, from its release to its score."""
    seconds: float = sum(record["cost"].get(part, 0.0) for part in ("release_s", "attack_s", "score_s"))
    return seconds


def spoken(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _costs(paths: list[Path]) -> list[Cost]:
    found: list[Cost] = []
    for path in paths[-MOST:]:
        try:
            cost = cost_of(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):  # said where the record itself is wanted
            continue
        if cost is not None:
            found.append(cost)
    return found
