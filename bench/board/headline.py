"""The main board in two or three sentences, made from its rows: what falls, what holds, what that rests on."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

from bench.board.formats import percent
from bench.board.model import Board, DefenseRow
from bench.board.utility import UNDEFENDED

# Points of the task's own metric that a defense may cost and still be called usable.
AFFORDABLE = 0.05
# A defense of which an attack finds more has fallen.
FALLEN = 0.5


def headline(board: Board, suite: str = "main") -> list[str]:
    """For each data set and encoder what falls, and what leaks least of that which is worth its cost."""
    rows = [row for row in board.defenses if row.suite == suite and row.worst and row.defense != UNDEFENDED]
    said = []
    for place in sorted({row.place for row in rows}):
        here = [row for row in rows if row.place == place]
        said += [*_fallen(here, {cell.attack for cell in board.cells if "corpus" in cell.sees}), *_choice(here)]
    return said


def _fallen(rows: Sequence[DefenseRow], need_candidates: Container[str]) -> list[str]:
    fallen = sorted((row for row in rows if _leak(row) > FALLEN), key=_leak, reverse=True)
    if not fallen:
        return []
    attacks = dict.fromkeys(row.worst.attack for row in fallen if row.worst)
    least, most = percent(_leak(fallen[-1])), percent(_leak(fallen[0]))
    share = least if least in {most, percent(0.999)} else f"{least} to {most}"
    told = " with a list of candidates" if any(attack in need_candidates for attack in attacks) else ""
    find = "finds" if len(attacks) == 1 else "find"
    hide = "hides" if len(fallen) == 1 else "hide"
    return [
        f"On {fallen[0].dataset} ({_setting(fallen[0])}), {' and '.join(attacks)}{told} {find} {share} of what "
        f"{', '.join(row.defense for row in fallen)} {hide}."
    ]


def _choice(rows: Sequence[DefenseRow]) -> list[str]:
    """Of the defenses on one data set that are worth their cost, the one that leaks least."""
    usable = [row for row in rows if _cost(row) <= AFFORDABLE]
    if not usable:
        return []
    best = min(usable, key=lambda row: (_leak(row), _cost(row)))
    assert best.worst is not None
    tried = f"of {best.attacks} attacks"
    found = (
        f"{tried}, none beats guessing"
        if best.worst.at_random
        else f"{tried}, the strongest ({best.worst.attack}) finds {percent(_leak(best))}"
    )
    promise = ""
    if best.epsilon:
        promise = f"; it claims ε = {best.epsilon.nominal:g}, the actual ε is {best.epsilon.accounted:,.0f}"
    metric, several = next(iter(best.utility or {})), len(usable) > 1
    subject = f"Of the {len(usable)} defenses that keep" if several else f"Only {best.defense} keeps"
    which = f", {best.defense} leaks least" if several else ""
    return [f"{subject} {metric} within {AFFORDABLE * 100:.0f} points on {best.dataset}{which}: {found}{promise}."]


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
    return f"{encoder}, {'fine-tuned through the defense' if training else 'frozen encoder'}"
