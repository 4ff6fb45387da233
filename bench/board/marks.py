"""Signs beside values, each with one sentence that explains it where it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.board.model import BoardCell, DefenseRow, UtilityRow


class Mark(NamedTuple):
    """A sign beside a value."""

    key: str
    sign: str
    title: str
    explanation: str


MARKS = (
    Mark("random", "≈", "at random level", "no better than random guessing: the lower end of the interval is no higher "
         "than what 95 % of random attackers reach"),
    Mark("tiny", "▫", "tiny corpus", "the attacker's corpus has fewer than 100 sentences, and naming all of it would "
         "find everything: not ranked"),
    Mark("stronger", "↑", "stronger attack known", "another attack on the same defense, data and encoder finds "
         "significantly more"),
    Mark("failed", "✗", "runs failed", "runs that failed or ran out of time, of all runs; the value is that of "
         "the others"),
    Mark("unreproduced", "⁇", "not reproduced", "a run behind this value did not come out when it was run again, and "
         "does not count"),
    Mark("stale", "↻", "stale records", "the code of the named components has changed since records behind this value "
         "were made, and has not been shown to give the same numbers"),
    Mark("published", "†", "published value beside ours", "a paper prints a value of the same defense and attack"),
    Mark("sealed", "‡", "sealed run", "the attack ran in a sandbox, on a key drawn with a salt that it could not know"),
)  # fmt: skip
SIGNS = {mark.key: mark.sign for mark in MARKS}


def mark_text(mark: str, failed: int, runs: int, stale: Sequence[str]) -> str:
    """The sign with what it stands for here: `✗ 1/3`, `↻ attack, scoring`."""
    said = {"failed": f" {failed}/{runs}", "stale": f" {', '.join(stale)}"}
    return SIGNS[mark] + said.get(mark, "")


# What stands beside a value in a table; the rest is for the page.
BESIDE = ("random", "tiny", "stronger", "failed", "unreproduced", "stale")


def cell_marks(cell: BoardCell, marks: Sequence[str] = BESIDE) -> str:
    there = [mark for mark in marks if mark in cell.marks]
    return " ".join(mark_text(mark, len(cell.failed), len(cell.seeds), cell.stale) for mark in there)


def used_marks(cells: Iterable[BoardCell], utility: Iterable[UtilityRow] = ()) -> list[Mark]:
    there = {mark for cell in cells for mark in cell.marks} | {"stale" for row in utility if row.stale}
    return [mark for mark in MARKS if mark.key in there]


def marks_of_worst_cases(rows: Iterable[DefenseRow]) -> list[Mark]:
    """The marks that stand beside worst cases of these defenses."""
    rows = list(rows)
    there = {
        "random": any(row.worst and row.worst.at_random for row in rows),
        "failed": any(row.attacks_failed or (row.worst and row.worst.failed) for row in rows),
        "stale": any(row.worst and row.worst.stale for row in rows),
    }
    return [mark for mark in MARKS if there.get(mark.key)]
