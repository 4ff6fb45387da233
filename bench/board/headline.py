"""The main board in two or three sentences, made from its rows: what falls, what holds, what that rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.board.model import Board, DefenseRow

# Points of the task's own metric that a defense may cost and still be called usable.
AFFORDABLE = 0.05
# The scheme that the field sells.
SUBJECT = "texthide"


def headline(board: Board, suite: str = "main") -> list[str]:
    """Nothing where the suite has no row of the scheme in question."""
    rows = [row for row in board.defenses if row.suite == suite and row.worst]
    said = []
    if fallen := [row for row in rows if row.defense == SUBJECT and row.worst]:
        worst = max(fallen, key=_leak)
        assert worst.worst is not None
        said.append(
            f"With a list of candidates that holds every private sentence, {worst.worst.attack} finds "
            f"{_percent(worst.worst.value)} of what TextHide hides ({worst.dataset}, {_setting(worst)})."
        )
    for place in sorted({row.place for row in rows}):
        said += _choice([row for row in rows if row.place == place])
    return said


def _choice(rows: Sequence[DefenseRow]) -> list[str]:
    """Of the defenses on one data set that are worth their cost, the one that leaks least."""
    usable = [row for row in rows if row.defense != "none" and _cost(row) <= AFFORDABLE]
    if not usable:
        return []
    best = min(usable, key=lambda row: (_leak(row), _cost(row)))
    assert best.worst is not None
    tried = f"of {best.attacks} attacks"
    found = (
        f"{tried}, none beats guessing"
        if best.worst.at_random
        else f"{tried}, the strongest ({best.worst.attack}) finds {_percent(_leak(best))}"
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


def _percent(share: float) -> str:
    """Not rounded up to all, nor down to nothing."""
    plain = round(100 * share)
    return f"{plain} %" if share in (0, 1) or 0 < plain < 100 else f"{100 * share:.2g} %" if plain == 0 else "over 99 %"
