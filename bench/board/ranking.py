"""Defenses in tiers, by the strongest attack on each; and which attacks are not the strongest known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.board.bootstrap import LEVEL, Bootstrap
from bench.board.pooling import LEAKS
from bench.records.model import Record


@dataclass(frozen=True)
class Entry:
    """A cell of the board with the records behind it."""

    records: Sequence[Record]
    cell: dict[str, Any]

    @property
    def ranked(self) -> bool:
        """It says which share of the examples was found."""
        return self.cell["metric"] in LEAKS and self.cell["value"] is not None

    @property
    def strength(self) -> tuple[bool, float]:
        """What is no better than guessing is no leak, be it larger: the level of a guess depends on the protocol, and
        guesses are compared by what they are above it."""
        guessed = self.cell["random"] if self.at_random else 0.0
        return not self.at_random, self.cell["value"] - guessed

    @property
    def at_random(self) -> bool:
        return "random" in self.cell["marks"]

    @property
    def coverage(self) -> float:
        return float(self.records[0]["protocol"]["coverage"])


class Arena:
    """All attacks on a defense, whatever suite they were run for."""

    def __init__(self, bootstrap: Bootstrap, entries: Sequence[Entry]) -> None:
        self._bootstrap = bootstrap
        self._rivals: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
        self._records = {r["id"]: r for entry in entries for r in entry.records}
        for entry in entries:
            if entry.ranked and not entry.at_random:
                self._rivals[target(entry.cell)].append(entry)
        for some in self._rivals.values():
            some.sort(key=lambda e: (-e.cell["value"], e.cell["attack"]))

    def stronger(self, cell: dict[str, Any]) -> str | None:
        """Another attack that finds significantly more, against a corpus that holds as much."""
        mine = Entry([self._records[i] for i in cell["ids"]], cell)
        if not mine.ranked:
            return None
        for rival in self._rivals[target(cell)]:
            if rival.cell["value"] <= cell["value"]:
                return None
            other = rival.cell["attack"] != cell["attack"] and rival.coverage == mine.coverage
            if other and _leaks_more(self._bootstrap, rival, mine)[0]:
                name: str = rival.cell["attack"]
                return name
        return None


def ranked(bootstrap: Bootstrap, entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Every defense of every data set and encoder with its worst case and tier; the best hidden first.

    A defense joins the current tier unless it leaks significantly more than the tier's first member.
    """
    places: dict[tuple[str, str], dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        places[entry.cell["dataset"], entry.cell["encoder"]][entry.cell["defense"]].append(entry)
    rows: list[dict[str, Any]] = []
    for (dataset, encoder), defenses in sorted(places.items()):
        worst = {name: _strongest(some) for name, some in defenses.items()}
        known = {name: entry for name, entry in worst.items() if entry is not None}
        tier, first = 0, ""
        for name in sorted(known, key=lambda n: (known[n].strength, n)):
            basis = None
            if first:
                differs, basis = _compare(bootstrap, known[name], known[first], defenses[name], defenses[first])
            if not first or differs:
                tier, first = tier + 1, name
            rows.append(_row(dataset, encoder, name, defenses[name], known[name], tier, basis))
        for name in sorted(defenses.keys() - known.keys()):
            rows.append(_row(dataset, encoder, name, defenses[name], None, None, None))
    return rows


def _row(
    dataset: str,
    encoder: str,
    defense: str,
    entries: Sequence[Entry],
    worst: Entry | None,
    tier: int | None,
    basis: str | None,
) -> dict[str, Any]:
    parts = ("attack", "metric", "value", "low", "high", "protocol")
    came = {entry.cell["attack"] for entry in entries if entry.cell["value"] is not None}
    # Tried, and no seed of any protocol came to an end: that says nothing on the defense, and must not look as if.
    lost = {entry.cell["attack"] for entry in entries if entry.cell["failed"]} - came
    return {
        "dataset": dataset,
        "encoder": encoder,
        "defense": defense,
        "worst": worst
        and {
            **{part: worst.cell[part] for part in parts},
            "failed": len(worst.cell["failed"]),
            "runs": len(worst.cell["seeds"]),
            "at_random": worst.at_random,
        },
        "attacks": len(came | lost),
        "attacks_failed": len(lost),
        "tier": tier,
        "basis": basis,
        "epsilon": _epsilon(worst, entries),
    }


def _epsilon(worst: Entry | None, entries: Sequence[Entry]) -> dict[str, float] | None:
    """What holds after as many encodings as the strongest attack saw. Where none is better than a guess, there is no
    strongest: as the one that saw most, since even that was not enough."""
    some = [worst] if worst and not worst.at_random else entries
    known = [e.cell["epsilon"] for e in some if e.cell["epsilon"]]
    return max(known, key=lambda budget: float(budget["accounted"]), default=None)


def _compare(
    bootstrap: Bootstrap, one: Entry, other: Entry, on_one: Sequence[Entry], on_other: Sequence[Entry]
) -> tuple[bool, str]:
    """Whether the first defense leaks more than the second, and how that was judged.

    On the same examples if the two strongest attacks saw the same. Else there are two ways, each at half the level: on
    examples drawn apart; and through the strongest attack on either, if it was run on both with one protocol and is no
    weaker than the other's strongest: an attack that is weak on one of them says nothing on its worst case.
    """
    differs, paired = _leaks_more(bootstrap, one, other)
    if paired:
        return differs, "paired"
    if _leaks_more(bootstrap, one, other, LEVEL / 2)[0]:
        return True, "unpaired"
    for mine, theirs in [
        *((one, e) for e in on_other if _alike(e, one) and not _leaks_more(bootstrap, other, e)[0]),
        *((e, other) for e in on_one if _alike(e, other) and not _leaks_more(bootstrap, one, e)[0]),
    ]:
        through, paired = _leaks_more(bootstrap, mine, theirs, LEVEL / 2)
        if paired:
            return through, f"through {mine.cell['attack']}"
    return False, "unpaired"


def _alike(one: Entry, other: Entry) -> bool:
    return one.ranked and all(one.cell[k] == other.cell[k] for k in ("attack", "protocol"))


def _leaks_more(bootstrap: Bootstrap, one: Entry, other: Entry, level: float = LEVEL) -> tuple[bool, bool]:
    if bootstrap.known(one.records) and bootstrap.known(other.records):
        return bootstrap.better(one.records, other.records, level)
    # Records from before examples were kept: intervals that do not touch.
    return bool(one.cell["low"] > other.cell["high"]), False


def _strongest(entries: Sequence[Entry]) -> Entry | None:
    some = [entry for entry in entries if entry.ranked]
    # Of equals the one that is surest.
    return max(some, key=lambda e: (e.strength, e.cell["low"], e.cell["attack"]), default=None)


def target(cell: dict[str, Any]) -> tuple[str, ...]:
    return cell["dataset"], cell["encoder"], cell["defense"]
