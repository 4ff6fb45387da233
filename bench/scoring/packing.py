"""Guesses as plain JSON and plain arrays, for the way to another process or into a file.

Nothing that is read is taken on trust: it may come from hostile code.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from bench.scoring import kinds
from bench.system.text import printable
from bench.types import KINDS, Guess, Readings, Written

# What an attack may add to its record: room for curves, none for a data set.
DETAILS_LIMIT = 8 << 20
DEPTH = 20
# Before the name of an array that belongs to the trail of a guess.
TRAIL = "trail."


def pack(guess: Guess, *, answers_only: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """A guess as plain JSON and plain arrays; with `answers_only`, without details and trail.

    One that holds too much travels as it is, for its author to be told.
    """
    facts: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    if not answers_only:
        json.dumps(guess.details)  # fails here, where the reason reaches the author, rather than in the parent
        facts["details"] = guess.details
        arrays |= {f"{TRAIL}{name}": np.asarray(value) for name, value in guess.trail.items()}
    for name in guess.given:
        more_facts, more_arrays = kinds.get(name).pack(guess)
        facts |= more_facts
        arrays |= more_arrays
    if guess.confidence is not None:
        arrays["confidence"] = np.asarray(guess.confidence)
    return facts, arrays


def read(facts: dict[str, Any], arrays: dict[str, Any]) -> tuple[Guess | None, str]:
    """The guess in a message, or what is wrong with the message."""
    details = facts.get("details") or {}
    trail = {name[len(TRAIL) :]: array for name, array in arrays.items() if name.startswith(TRAIL)}
    known = {name: array for name, array in arrays.items() if name in KINDS or name == "confidence"}
    if len(known) + len(trail) < len(arrays):
        return None, f"it sent arrays that no guess has: {', '.join(map(printable, arrays))[:200]}"
    try:
        values = {kind.name: kind.unpack(facts, known) for kind in kinds.every()}
    except ValueError as error:
        return None, str(error)
    if not isinstance(details, dict) or not _shallow(details, DEPTH) or len(json.dumps(details)) > DETAILS_LIMIT:
        return None, f"the details of its guess are not a table of at most {DETAILS_LIMIT >> 20} MiB, {DEPTH} deep"
    given: dict[str, type[Guess]] = {"readings": Readings, "written": Written}
    special = [name for name in given if values[name] is not None]
    if len(special) > 1:
        return None, f"a guess holds one of {' and '.join(special)}, not both"
    values = {name: value for name, value in values.items() if name in KINDS or name in special}
    if special == ["written"]:
        values["ordered"] = facts.get("ordered") is not False
    kind = given[special[0]] if special else Guess
    return kind(**values, confidence=known.get("confidence"), details=details, trail=trail), ""


def _shallow(value: Any, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_shallow(item, depth - 1) for item in inner)
