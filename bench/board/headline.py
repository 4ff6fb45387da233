"""The main board in three sentences, made from its rows: the strongest attack, what to trust, what that assumes."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

from bench.board.formats import percent
from bench.board.model import Board, BoardCell, DefenseRow, Epsilon
from bench.board.utility import UNDEFENDED

# Points of the task's own metric that a defense may cost and still be called usable.
AFFORDABLE = 0.05
# A defense of which an attack finds more has fallen.
FALLEN = 0.5
# An actual ε may be above the claimed one by as much, and still be called the same.
ROUNDING = 1.001


class Answer(NamedTuple):
    """To one of the three questions of somebody who has half a minute."""

    title: str
    text: str


def headline(board: Board, suite: str = "main") -> list[Answer]:
    rows = [row for row in board.defenses if row.suite == suite and row.worst and row.defense != UNDEFENDED]
    listed = {cell.attack for cell in board.cells if "corpus" in cell.sees}
    places = [[row for row in rows if row.place == place] for place in sorted({row.place for row in rows})]
    answers = [
        Answer("Strongest attack", _fallen(places, listed)),
        Answer("Which to trust", " ".join(filter(None, map(_choice, places)))),
        Answer("What this assumes", _assumption(rows, [cell for cell in board.cells if suite in cell.suites])),
    ]
    return [answer for answer in answers if answer.text] if any(answer.text for answer in answers[:2]) else []


def _fallen(places: Sequence[Sequence[DefenseRow]], listed: Container[str]) -> str:
    """What has fallen, data set by data set; those to which the same happened in one sentence."""
    found: dict[str, list[str]] = {}
    for rows in places:
        fallen = sorted((row for row in rows if _leak(row) > FALLEN), key=lambda row: row.defense)
        if not fallen:
            continue
        attacks = sorted({row.worst.attack for row in fallen if row.worst})
        least, most = percent(min(map(_leak, fallen))), percent(max(map(_leak, fallen)))
        share = least if least in {most, percent(0.999)} else f"{least} to {most}"
        told = ", with a list of candidates," if any(attack in listed for attack in attacks) else ""
        verb, hide = ("finds" if len(attacks) == 1 else "find"), ("hides" if len(fallen) == 1 else "hide")
        of = f"what {_and(row.defense for row in fallen)} {hide} on {fallen[0].dataset}"
        found.setdefault(f"{_and(attacks)}{told} {verb} {share} of ", []).append(of)
    return " ".join(f"{head}{', and of '.join(parts)}." for head, parts in found.items())


def _choice(rows: Sequence[DefenseRow]) -> str:
    """Of the defenses on one data set that are worth their cost, the one that leaks least, and what it promises."""
    usable = [row for row in rows if _cost(row) <= AFFORDABLE]
    if not usable:
        return ""
    best = min(usable, key=_preference)
    assert best.worst is not None
    metric = f"{next(iter(best.utility or {}))} within {AFFORDABLE * 100:.0f} points"
    several = len(usable) > 1
    subject = f"Of the {len(usable)} defenses that keep" if several else f"Only {best.defense} keeps"
    which = f", {best.defense} leaks least" if several else ""
    holds = f"none of {best.attacks} attacks on it beats guessing"
    found = holds if best.worst.at_random else f"{best.worst.attack} finds {percent(_leak(best))} of what it hides"
    said = f"{subject} {metric}{which}: {found}"
    if best.worst.at_random and best.epsilon and _holds(best.epsilon):
        return f"On {best.dataset}, {best.defense}. {said}, and its ε of {best.epsilon.nominal:g} holds."
    joint = "but" if best.worst.at_random else "and"
    return f"On {best.dataset}, none yet. {said}, {joint} {_promise(best.epsilon)}."


def _preference(row: DefenseRow) -> tuple[float, float, float]:
    """Leaks that are no better than guessing are alike: what is claimed and holds, then ε, then the cost decide."""
    leak = 0.0 if row.worst and row.worst.at_random else _leak(row)
    return leak, row.epsilon.accounted if row.epsilon else math.inf, _cost(row)


def _holds(epsilon: Epsilon) -> bool:
    """The ε that is claimed is the one of all that was observed."""
    return epsilon.accounted <= ROUNDING * epsilon.nominal


def _promise(epsilon: Epsilon | None) -> str:
    """What keeps a defense from being trusted."""
    if not epsilon:
        return "it claims no ε"
    if _holds(epsilon):
        return f"its ε of {epsilon.nominal:g}, which holds, does not prevent that"
    return f"it claims ε = {epsilon.nominal:g}, and its actual ε is {epsilon.accounted:,.0f}"


def _assumption(rows: Sequence[DefenseRow], cells: Sequence[BoardCell]) -> str:
    """What the attackers of the worst cases had, and which encoder it was."""
    worst = [row.worst for row in rows if row.worst and not row.worst.at_random]
    listed = {cell.attack for cell in cells if "corpus" in cell.sees}
    parts = []
    if any(one.attack in listed for one in worst):
        every = all("coverage" not in one.protocol for one in worst)
        held = "every private sentence" if every else "part of the private sentences"
        parts.append(f"the attacker has a list of candidates that holds {held}")
    elif worst:
        parts.append("the attacker has no list of candidates")
    if settings := sorted({_setting(row) for row in rows}):
        old = any(f"--attacker {who}" in cell.command for cell in cells for who in ("stale", "initial"))
        has = "some attackers have older weights than the client" if old else "the attacker has its weights"
        if pairs := {one.protocol.partition(" known pairs")[0].split()[-1] for one in worst if _by_pairs(one)}:
            whose = "the attacker" if all(map(_by_pairs, worst)) else "some attackers"
            numbers = " or ".join(sorted(pairs, key=lambda number: int(number) if number.isdigit() else 0))
            has = f"{whose} knew {numbers} of its vectors instead of its weights"
        parts.append(f"the encoder is {_and(settings)}, and {has}")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _by_pairs(one: Any) -> bool:
    """Found by an attacker who had pairs of text and vector in place of the encoder."""
    return " known pairs" in one.protocol


def _cost(row: DefenseRow) -> float:
    """How much worse the model is than without the defense, by the first metric of the task; infinite if not known."""
    metric = next(iter((row.utility or {}).values()), None)
    if metric is None or metric.mean is None or metric.undefended is None:
        return math.inf
    return metric.undefended - metric.mean


def _leak(row: DefenseRow) -> float:
    return row.worst.value if row.worst else 0.0


def _setting(row: DefenseRow) -> str:
    encoder, _, training = row.encoder.partition(" ")
    return f"{encoder}, {'fine-tuned through the defense' if training else 'as it was downloaded'}"


def _and(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
