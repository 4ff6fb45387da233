"""Defenses in tiers, by the strongest attack on each; and which attacks are not the strongest known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.board.bootstrap import LEVEL, Bootstrap
from bench.board.model import BoardCell, DefenseRow, Epsilon, WorstCase
from bench.board.pooling import LEAKS
from bench.records.model import AttackRecord


@dataclass(frozen=True)
class Experiment:
    """A cell of the board with the records behind it."""

    records: Sequence[AttackRecord]
    cell: BoardCell

    @property
    def ranked(self) -> bool:
        """Its metric says which share of the examples was found, in a corpus that hides them."""
        return self.cell.metric in LEAKS and self.cell.value is not None and "tiny" not in self.cell.marks

    @property
    def value(self) -> float:
        return self.cell.value or 0.0

    @property
    def strength(self) -> tuple[bool, float]:
        """Finding more than random guessing counts first. What is no better than guessing is compared by its distance
        from the random level, which depends on the protocol."""
        guessed = (self.cell.random or 0.0) if self.cell.at_random else 0.0
        return not self.cell.at_random, self.value - guessed

    @property
    def coverage(self) -> float:
        return self.records[0].protocol.coverage


class Rivals:
    """All attacks on a defense, whatever suite they were run for."""

    def __init__(self, bootstrap: Bootstrap, experiments: Sequence[Experiment]) -> None:
        self._bootstrap = bootstrap
        self._rivals: dict[tuple[str, str, str], list[Experiment]] = defaultdict(list)
        self._records = {r.id: r for experiment in experiments for r in experiment.records}
        for experiment in experiments:
            if experiment.ranked and not experiment.cell.at_random:
                self._rivals[experiment.cell.target].append(experiment)
        for some in self._rivals.values():
            some.sort(key=lambda e: (-e.value, e.cell.attack))

    def stronger(self, cell: BoardCell) -> str | None:
        """Another attack that finds significantly more, against a corpus with the same coverage. One that sees updates
        is no rival to one that sees encodings: a client may release these and never send those."""
        mine = Experiment([self._records[i] for i in cell.ids], cell)
        if not mine.ranked:
            return None
        for rival in self._rivals[cell.target]:
            if rival.value <= mine.value:
                return None
            other = rival.cell.attack != cell.attack and rival.coverage == mine.coverage
            other = other and ("updates" in rival.cell.sees) == ("updates" in cell.sees)
            if other and _leaks_more(self._bootstrap, rival, mine)[0]:
                return rival.cell.attack
        return None


def rank(suite: str, bootstrap: Bootstrap, experiments: Sequence[Experiment]) -> list[DefenseRow]:
    """Every defense of every data set and encoder with its worst case and tier; the least leak first.

    A defense joins the current tier unless it leaks significantly more than the tier's first member.
    """
    places: dict[tuple[str, str], dict[str, list[Experiment]]] = defaultdict(lambda: defaultdict(list))
    for experiment in experiments:
        places[experiment.cell.place][experiment.cell.defense].append(experiment)
    rows: list[DefenseRow] = []
    for _, defenses in sorted(places.items()):
        strongest = {name: _strongest(some) for name, some in defenses.items()}
        known = {name: experiment for name, experiment in strongest.items() if experiment is not None}
        tier, first = 0, ""
        for name in sorted(known, key=lambda n: (known[n].strength, n)):
            basis, differs = None, True
            if first:
                differs, basis = _compare(bootstrap, known[name], known[first], defenses[name], defenses[first])
            if differs:
                tier, first = tier + 1, name
            rows.append(_row(suite, defenses[name], known[name], tier, basis))
        rows += [_row(suite, defenses[name], None, None, None) for name in sorted(defenses.keys() - known.keys())]
    return rows


def _row(
    suite: str, experiments: Sequence[Experiment], strongest: Experiment | None, tier: int | None, basis: str | None
) -> DefenseRow:
    dataset, encoder, defense = experiments[0].cell.target
    finished = {e.cell.attack for e in experiments if e.cell.value is not None}
    # Tried, and no seed of any protocol came to an end: that says nothing about the defense, and is shown as failed.
    lost = {e.cell.attack for e in experiments if e.cell.failed} - finished
    return DefenseRow(
        suite=suite,
        dataset=dataset,
        encoder=encoder,
        defense=defense,
        worst=_worst(strongest.cell) if strongest else None,
        attacks=len(finished | lost),
        attacks_failed=len(lost),
        tier=tier,
        basis=basis,
        epsilon=_epsilon(strongest, experiments),
    )


def _worst(cell: BoardCell) -> WorstCase:
    values = {name: getattr(cell, name) for name in ("attack", "metric", "value", "low", "high", "protocol", "stale")}
    return WorstCase(**values, failed=len(cell.failed), runs=len(cell.seeds), at_random=cell.at_random)


def _epsilon(strongest: Experiment | None, experiments: Sequence[Experiment]) -> Epsilon | None:
    """What holds after as many encodings as the strongest attack saw. Where none is better than guessing there is no
    strongest: the budget of the attack that saw most, since even that was not enough."""
    some = [strongest] if strongest and not strongest.cell.at_random else experiments
    known = [e.cell.epsilon for e in some if e.cell.epsilon]
    return max(known, key=lambda budget: budget.accounted, default=None)


def _compare(
    bootstrap: Bootstrap,
    one: Experiment,
    other: Experiment,
    on_one: Sequence[Experiment],
    on_other: Sequence[Experiment],
) -> tuple[bool, str]:
    """Whether the first defense leaks more than the second, and how that was judged.

    On the same examples if the two strongest attacks saw the same. Else there are two ways, each at half the level: on
    examples drawn independently; and through the strongest attack on either, if it was run on both with one protocol
    and is no weaker than the other's strongest: an attack that is weak on one of them says nothing on its worst case.
    """
    differs, paired = _leaks_more(bootstrap, one, other)
    if paired:
        return differs, "paired"
    if _leaks_more(bootstrap, one, other, LEVEL / 2)[0]:
        return True, "unpaired"
    for mine, theirs in [
        *((one, e) for e in on_other if _same_attack(e, one) and not _leaks_more(bootstrap, other, e)[0]),
        *((e, other) for e in on_one if _same_attack(e, other) and not _leaks_more(bootstrap, one, e)[0]),
    ]:
        through, paired = _leaks_more(bootstrap, mine, theirs, LEVEL / 2)
        if paired:
            return through, f"through {mine.cell.attack}"
    return False, "unpaired"


def _same_attack(one: Experiment, other: Experiment) -> bool:
    return one.ranked and (one.cell.attack, one.cell.protocol) == (other.cell.attack, other.cell.protocol)


def _leaks_more(bootstrap: Bootstrap, one: Experiment, other: Experiment, level: float = LEVEL) -> tuple[bool, bool]:
    """Whether the first leaks more, and whether that was judged on the same examples."""
    if bootstrap.known(one.records) and bootstrap.known(other.records):
        return bootstrap.better(one.records, other.records, level)
    # Records without outcomes per example: intervals that do not overlap.
    return (one.cell.low or 0.0) > (other.cell.high or 0.0), False


def _strongest(experiments: Sequence[Experiment]) -> Experiment | None:
    some = [experiment for experiment in experiments if experiment.ranked]
    # Of equals the one with the largest lower bound.
    return max(some, key=lambda e: (e.strength, e.cell.low, e.cell.attack), default=None)
