"""Checks what an attack has sent. Nothing of it is taken on trust: it may come from hostile code."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.scoring import kinds
from bench.scoring.kinds import Expected
from bench.system.text import printable
from bench.types import EVERY_KIND, Guess

# Answers to all items together: scoring compares each with the truth, several arrays of them at a time.
ANSWERS = 1 << 24
# Reconstructions times released items: every pair is compared before they are matched.
PAIRS = 1 << 27
# Letters of one text: tokenizers and comparisons take time that grows with it, and no example is as long.
LETTERS = 20_000
TRAIL = ("steps", "distance", "images", "masks")
# How often something was tried is counted up to here.
OFTEN = 1_000_000


def used(facts: dict[str, Any]) -> tuple[str, ...]:
    """What the attack looked at of its view, by its own account."""
    found = facts.get("used")
    return tuple(_word(word, 40) for word in found[:20]) if isinstance(found, list) else ()


def attempts(facts: dict[str, Any]) -> dict[str, int]:
    """What a sealed attack tried beyond its view."""
    found = facts.get("attempts")
    if not isinstance(found, dict):
        return {}
    some = list(found.items())[:50]
    return {_word(what, 200): max(0, min(OFTEN, int(n))) for what, n in some if isinstance(n, int)}


def check(guess: Guess, expected: Expected) -> str | None:
    """What is wrong with a guess for this release, in words for its author; None if nothing is."""
    if len(guess.given) != 1:
        return f"a guess holds exactly one of {', '.join(EVERY_KIND)}; this one holds {list(guess.given) or 'none'}"
    kind = kinds.kind_of(guess)
    if kind.modality != expected.modality:
        return f"a guess of {kind.name} does not fit: the private examples are {expected.modality}"
    wrong = kind.check(guess, expected) or _too_much(guess, expected) or _trail(guess, expected)
    if wrong is None and guess.confidence is not None:
        confidence = np.asarray(guess.confidence)
        if confidence.shape != (expected.items,) or not np.isfinite(confidence).all():
            return f"confidence has shape {confidence.shape}; expected {expected.items} finite numbers"
    return wrong


def _too_much(guess: Guess, expected: Expected) -> str | None:
    if guess.ranking is not None and (size := np.asarray(guess.ranking).size) > ANSWERS:
        return f"the ranking names {size:,} sentences in all; at most {ANSWERS:,} are taken: name fewer for each item"
    if guess.vectors is not None and len(guess.vectors) * expected.items > PAIRS:
        most = PAIRS // expected.items
        return f"{len(guess.vectors):,} vectors were guessed for {expected.items:,} items; at most {most:,} are taken"
    longest = max(map(len, guess.texts), default=0) if guess.texts is not None else 0
    if longest > LETTERS:
        return f"a text of {longest:,} letters was guessed; at most {LETTERS:,} are taken"
    return None


def _trail(guess: Guess, expected: Expected) -> str | None:
    """Shapes that fit each other and the pictures: what does not would be stretched to fit, in memory."""
    trail = {name: np.asarray(array) for name, array in guess.trail.items()}
    if not trail:
        return None
    if unknown := sorted(set(trail) - set(TRAIL)):
        return f"the trail holds {printable(unknown[0])!r}; expected {', '.join(TRAIL)}"
    if missing := sorted({"steps", "distance", "images"} - set(trail)):
        return f"the trail lacks {missing[0]}"
    points = trail["distance"].shape
    if len(points) != 2 or points[0] > expected.items or trail["steps"].shape != points[1:]:
        return f"the trail's distance has shape {points}; expected items × steps"
    images = trail["images"].shape
    if len(images) != 6 or images[:2] != points or images[3:] != expected.shape or not 1 <= images[2] <= expected.width:
        return f"the trail's images have shape {images}; expected items × steps × dummies × the shape of a picture"
    masks = trail["masks"].shape if "masks" in trail else (*points, expected.dim)
    if masks != (*points, expected.dim):
        return f"the trail's masks have shape {masks}; expected items × steps × {expected.dim}"
    return None


def _word(value: Any, length: int) -> str:
    """Cut before it is cleaned: it may be very long."""
    return printable(str(value)[:length])
