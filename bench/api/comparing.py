"""`bench compare`: two attacks, or two versions of one, on the very same private examples."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.api import stored
from bench.board.bootstrap import LEVEL, same_examples
from bench.errors import UsageError
from bench.records import store
from bench.records.model import AttackRecord
from bench.scoring import per_example

ROUNDS = 10_000


@dataclass(frozen=True)
class Comparison:
    """Of one cell: what each found, as a mean over its private examples, and the paired difference."""

    dataset: str
    encoder: str
    defense: str
    seed: int
    metric: str
    first: float
    second: float
    low: float
    """95 % interval of first − second: a bootstrap over the examples that both were to find"""
    high: float
    examples: int
    ids: tuple[str, str]

    @property
    def difference(self) -> float:
        return self.first - self.second

    @property
    def verdict(self) -> str:
        return "first finds more" if self.low > 0 else "second finds more" if self.high < 0 else "no difference seen"


def compare(
    first: str | os.PathLike[str], second: str | os.PathLike[str], results: str | os.PathLike[str] | None = None
) -> list[Comparison]:
    """Each of the two is a record (id or file), an attack as a run's table names it, or a folder of records.

    Of two folders, cells of the same attack are compared; of anything else, cells that differ in the attack alone.
    """
    folders = Path(first).is_dir() and Path(second).is_dir()
    one, other = ({_cell(r, attack=folders): r for r in _records(x, results)} for x in (first, second))
    shared = [key for key in one if key in other]
    if not shared:
        raise UsageError(
            f"{first} and {second} share no cell: both must have run on the same data, encoder, defense, "
            "protocol and seed"
        )
    found = [_compared(one[key], other[key]) for key in shared]
    return sorted(found, key=lambda c: (c.dataset, c.encoder, c.defense, c.seed))


def _records(what: str | os.PathLike[str], results: str | os.PathLike[str] | None) -> list[AttackRecord]:
    if Path(what).is_dir():
        found = [r for r in store.read_all(Path(what)) if isinstance(r, AttackRecord)]
    else:
        folder = Path(results) if results else stored.RESULTS
        here = store.read_all(folder) if folder.is_dir() else []
        found = [r for r in here if isinstance(r, AttackRecord) and r.attack.label == str(what)]
        if not found:
            record = stored.show(str(what), results).record
            if not isinstance(record, AttackRecord):
                raise UsageError(f"{what} is a record of training: attacks are compared")
            found = [record]
    usable = [r for r in found if r.status == "ok" and r.outcomes is not None]
    if not usable:
        raise UsageError(f"{what}: no record of a run that ended well and says what became of each example")
    return usable


def _cell(record: AttackRecord, *, attack: bool) -> Hashable:
    """What two runs must share to be compared."""
    same = (same_examples(record), record.model, record.attacker, record.defense.label)
    return (*same, record.attack.label) if attack else same


def _compared(first: AttackRecord, second: AttackRecord) -> Comparison:
    one, other = per_example.values(first), per_example.values(second)
    assert one is not None
    assert other is not None
    assert first.outcomes is not None
    both = ~(np.isnan(one) | np.isnan(other))
    difference = (one - other)[both]
    drawn = np.random.default_rng(0).multinomial(len(difference), np.full(len(difference), 1 / len(difference)), ROUNDS)
    low, high = np.quantile(drawn @ difference / len(difference), [LEVEL, 1 - LEVEL])
    return Comparison(
        dataset=first.dataset.label,
        encoder=first.model,
        defense=first.defense.label,
        seed=first.seed,
        metric=first.outcomes.metric,
        first=float(one[both].mean()),
        second=float(other[both].mean()),
        low=float(low),
        high=float(high),
        examples=int(both.sum()),
        ids=(first.id, second.id),
    )


def described(found: Sequence[Comparison]) -> list[dict[str, object]]:
    """For programs."""
    return [{**vars(one), "ids": list(one.ids), "difference": one.difference, "verdict": one.verdict} for one in found]
