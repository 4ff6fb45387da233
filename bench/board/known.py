"""What the published board knows: which attack is strongest against a defense, and what others found in the same cell.

Read from the board.json that comes with the project; where there is none, nothing is known and nothing is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from bench.board import pooling
from bench.board.utility import UNDEFENDED
from bench.plugins.decorators import SURFACES
from bench.records.model import AttackRecord
from bench.system.paths import board_file

# Two shares that differ by less are not worth a word.
MUCH = 0.1
# Published attacks that stand beside a new one.
MOST = 4
# What an attack must not need beyond the one it is compared with.
_SURFACES = frozenset({*SURFACES, "oracle"})


class KnownCell(NamedTuple):
    """A cell of the published board."""

    dataset: str
    encoder: str
    defense: str
    attack: str
    sees: tuple[str, ...]
    protocol: str
    metric: str
    value: float
    modality: str = "text"

    @property
    def finetuned(self) -> bool:
        return " finetuned" in self.encoder

    @property
    def setting(self) -> str:
        return f"{self.dataset}, {self.encoder}{'' if self.finetuned else ', frozen'}"


@lru_cache(maxsize=1)
def cells() -> tuple[KnownCell, ...]:
    try:
        found = json.loads(board_file().read_text(encoding="utf-8"))["cells"]
        return tuple(
            KnownCell(
                **{name: cell[name] for name in KnownCell._fields if name in cell} | {"sees": tuple(cell["sees"])}
            )
            for cell in found
            if cell["value"] is not None
        )
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def warnings(records: Iterable[AttackRecord]) -> Iterator[str]:
    """A line for each defense that a run shows in too good a light: the board has a stronger attack on it."""
    groups: dict[tuple[str, bool, str], list[AttackRecord]] = {}
    for record in records:
        if record.status == "ok" and record.defense.name != UNDEFENDED:
            setting = (record.defense.label, record.finetuned is not None, record.dataset.modality)
            groups.setdefault(setting, []).append(record)
    for (defense, finetuned, modality), group in groups.items():
        best = strongest(defense, finetuned, {word for record in group for word in record.attack.sees}, modality)
        ran = {record.attack.label for record in group}
        leaks = [leak for record in group if (leak := leak_of(record)) is not None]
        if best is not None and best.attack not in ran and best.value > max(leaks, default=0.0) + MUCH:
            said = "no attack of this run names examples"  # rebuilt vectors, however near, do not
            if leaks:
                said = f"the strongest attack of this run finds {max(leaks):.3f}"
            yield (
                f"{defense}: {said}; on the published board {best.attack} finds {best.value:.3f} ({best.setting}): add "
                f"--attack {best.attack}"
            )


def strongest(defense: str, finetuned: bool, sees: Iterable[str], modality: str = "text") -> KnownCell | None:
    """The attack that finds most behind a defense, of those that need no other surface than `sees` has."""
    there = set(sees)
    rivals = [
        cell
        for cell in cells()
        if cell.defense == defense
        and cell.finetuned == finetuned
        and cell.modality == modality
        and cell.metric in pooling.LEAKS
        and (set(cell.sees) & _SURFACES) <= there
    ]
    return max(rivals, key=lambda cell: cell.value, default=None)


def rivals(records: Iterable[AttackRecord]) -> Iterator[str]:
    """For attacks that the board does not have: what published ones find in the same cell."""
    published = {cell.attack.partition(":")[0] for cell in cells()}
    lines = {}
    for record in records:
        if record.attack.name not in published and (found := beside(record)):
            told = ", ".join(f"{cell.attack} {cell.value:.3f} ({cell.protocol})" for cell in found[:MOST])
            lines[f"{record.dataset.label}, {record.model}, {record.defense.label}: published attacks find {told}"] = 0
    yield from lines


def beside(record: AttackRecord) -> list[KnownCell]:
    """Published attacks on the same defense, data and encoder, the strongest first."""
    same = [
        cell
        for cell in cells()
        if (cell.dataset, cell.encoder, cell.defense) == (record.dataset.label, record.model, record.defense.label)
        and cell.metric in pooling.LEAKS
    ]
    return sorted(same, key=lambda cell: -cell.value)


def assumption(records: Sequence[AttackRecord]) -> str | None:
    """That the private sentences are among the candidates, and what is left when they are not."""
    shares = {record.protocol.coverage for record in records if "corpus" in record.attack.sees}
    if shares and 1 not in shares:
        said = " or ".join(f"{100 * share:g} %" for share in sorted(shares))
        return (
            f"Only {said} of the private examples are in the attacker's list of candidates; the leak is a share of "
            "those."
        )
    if not shares:
        return None
    said = "Assumed: every private example is in the attacker's list of candidates."
    defenses = {record.defense.name for record in records}
    if any(record.dataset.modality != "text" for record in records):
        return said
    seen = {word for record in records for word in record.attack.sees} & {"encodings", "updates"}
    same = [
        c for c in cells() if set(c.sees) & _SURFACES in ({s} for s in seen) and c.defense.partition(":")[0] in defenses
    ]
    half = [c for c in same if "coverage 0.5" in c.protocol]
    blind = [c for c in same if "corpus" not in c.sees]
    known = []
    if best := max(half, key=lambda cell: cell.value, default=None):
        known.append(
            f"with only half of them in it, {best.attack} names {best.value:.3f} of that half ({best.defense}, "
            f"{best.setting})"
        )
    does = {"success": "rebuilds {} of the vectors, not their words", "exact": "writes {} of the texts word for word"}
    for metric, what in does.items():
        if best := max((c for c in blind if c.metric == metric), key=lambda cell: cell.value, default=None):
            known.append(
                f"without any list, {best.attack} {what.format(f'{best.value:.3f}')} ({best.defense}, {best.setting})"
            )
    return f"{said} On the published board, {'; '.join(known)}." if known else said


def leak_of(record: AttackRecord) -> float | None:
    """The share of what was hidden that an attack found; None where its metrics are of another kind."""
    metric = pooling.headline([record])
    found = record.metrics.get(metric) if metric in pooling.LEAKS else None
    return float(found.value) if found and found.value is not None else None
