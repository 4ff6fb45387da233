"""The papers' own numbers, from one data file, to stand beside those that were measured here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import IN_CHECKOUT, ROOT
from bench.errors import UsageError
from bench.experiment.cells import Chosen
from bench.plugins.options import split
from bench.plugins.registry import Registry


@dataclass(frozen=True)
class Published:
    """One printed number. Names are spelled as records spell them; an attack's as it stands in the file, because
    attacks may be strangers, whose code is not imported."""

    suite: str
    table: str
    """where it is printed: TextHide table 3a"""
    source: str
    """the same, with the row"""
    dataset: str
    encoder: str
    """empty: whichever is run"""
    defense: str
    attack: str
    """empty: what a defense costs in accuracy"""
    metric: str
    value: float
    deviation: float | None
    random: float | None
    """what the paper says that guessing reaches"""

    def fits(self, dataset: str, encoder: str, defense: str, attack: str) -> bool:
        same = (self.dataset, self.defense, self.attack) == (dataset, defense, attack)
        return same and self.encoder in ("", encoder)

    def beside(self) -> dict[str, Any]:
        """What stands beside a value of ours."""
        return {name: getattr(self, name) for name in ("metric", "value", "deviation", "random", "table", "source")}


def load(registry: Registry) -> list[Published]:
    tables = tomllib.loads(path().read_text(encoding="utf-8"))["table"]
    return [number for table in tables for row in table["rows"] for number in _numbers({**table, **row}, registry)]


def path() -> Path:
    """Beside the boards in a checkout, inside the package elsewhere."""
    return (ROOT if IN_CHECKOUT else Path(__file__).parent.parent) / "leaderboards" / "published.toml"


def _numbers(row: dict[str, Any], registry: Registry) -> list[Published]:
    names = {
        kind: _label(registry, kind, row[kind]) if kind in row else "" for kind in ("dataset", "encoder", "defense")
    }
    table = f"{row['paper']} {row['where']}"
    scale = 100 if row.get("percent") else 1
    found = []
    for metric, printed in row["values"].items():
        mean, deviation = printed if isinstance(printed, list) else (printed, None)
        spread = None if deviation is None else round(deviation / scale, 6)
        found.append(
            Published(
                row["suite"],
                table,
                f"{table}, {row['row']}",
                **names,
                attack=row.get("attack", ""),
                metric=metric,
                value=round(mean / scale, 6),
                deviation=spread,
                random=row.get("random", {}).get(metric),
            )
        )
    return found


def _label(registry: Registry, kind: str, spec: str) -> str:
    """`texthide:m=256,k=4` → `texthide`, as records call it, which leave out what is the default."""
    try:
        return Chosen(registry.get(kind, split(spec)[0]), registry.make(kind, spec)).label
    except UsageError:
        return spec  # a plugin that is not here: shown as printed, with nothing beside it
