"""Checks what an attack has sent. Nothing of it is taken on trust: it may come from hostile code."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.scoring import kinds
from bench.scoring.kinds import Expected
from bench.system.text import printable
from bench.types import KINDS, Guess


def used(facts: dict[str, Any]) -> tuple[str, ...]:
    """What the attack looked at of its view, by its own account."""
    found = facts.get("used")
    return tuple(printable(word)[:40] for word in found[:20]) if isinstance(found, list) else ()


def attempts(facts: dict[str, Any]) -> dict[str, int]:
    """What a sealed attack tried beyond its view."""
    found = facts.get("attempts")
    if not isinstance(found, dict):
        return {}
    return {printable(what)[:200]: int(n) for what, n in list(found.items())[:50] if isinstance(n, int)}


def check(guess: Guess, expected: Expected) -> str | None:
    """What is wrong with a guess for this release, in words for its author; None if nothing is."""
    if len(guess.given) != 1:
        return f"a guess holds exactly one of {', '.join(KINDS)}; this one holds {list(guess.given) or 'none'}"
    kind = kinds.kind_of(guess)
    if kind.modality != expected.modality:
        return f"a guess of {kind.name} does not fit: the private examples are {expected.modality}"
    wrong = kind.check(guess, expected)
    if wrong is None and guess.confidence is not None:
        confidence = np.asarray(guess.confidence)
        if confidence.shape != (expected.items,) or not np.isfinite(confidence).all():
            return f"confidence has shape {confidence.shape}; expected {expected.items} finite numbers"
    return wrong
