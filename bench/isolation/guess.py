"""Reads and checks what an attack has sent. Nothing of it is taken on trust: it may come from hostile code."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from bench.isolation import channel
from bench.system.text import printable
from bench.types import Guess

ARRAYS = frozenset(["ranking", "vectors", "images", "confidence"])
# What an attack may add to its record: room for curves, none for a data set.
DETAILS_LIMIT = 8 << 20
DEPTH = 20
# More reconstructions than private examples count as wrong; so many more are no guess, and matching them takes hours.
SURPLUS = 20


def read(facts: dict[str, Any], arrays: dict[str, Any]) -> tuple[Guess | None, str]:
    """The guess in a message, or what is wrong with the message."""
    texts, details = facts.get("texts"), facts.get("details") or {}
    trail = {name[len(channel.TRAIL) :]: array for name, array in arrays.items() if name.startswith(channel.TRAIL)}
    known = {name: array for name, array in arrays.items() if name in ARRAYS}
    if len(known) + len(trail) < len(arrays):
        return None, f"it sent arrays that no guess has: {', '.join(map(printable, arrays))[:200]}"
    if texts is not None and not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        return None, "the texts of its guess are not a list of strings"
    if not isinstance(details, dict) or not _shallow(details, DEPTH) or len(json.dumps(details)) > DETAILS_LIMIT:
        return None, f"the details of its guess are not a table of at most {DETAILS_LIMIT >> 20} MiB, {DEPTH} deep"
    return Guess(texts=texts, details=details, trail=trail, **known), ""


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


def _shallow(value: Any, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_shallow(item, depth - 1) for item in inner)


def check(guess: Guess, items: int, rows: int, dim: int, picture: tuple[int, ...] = (), width: int = 1) -> str | None:
    """What is wrong with a guess for this release, in words for its author; None if nothing is.

    `width` is how many examples are mixed into an item.
    """
    given = [name for name in ("ranking", "vectors", "texts", "images") if getattr(guess, name) is not None]
    if len(given) != 1:
        return f"a guess holds exactly one of ranking, vectors and texts; this one holds {given or 'none'}"
    if (given == ["images"]) != bool(picture):
        return f"a guess of {given[0]} does not fit: the private examples are {'pictures' if picture else 'text'}"
    if guess.images is not None:
        shape = np.asarray(guess.images).shape
        if len(shape) != 5 or shape[0] != items or not 1 <= shape[1] <= width or shape[2:] != picture:
            size = " × ".join(map(str, picture))
            return f"the pictures have shape {shape}; expected {items} × dummies × {size}, at most {width} dummies"
    if guess.ranking is not None:
        ranking = np.asarray(guess.ranking)
        if ranking.ndim != 2 or len(ranking) != items or not ranking.shape[1]:
            return f"the ranking has shape {ranking.shape}; expected {items} × t, a row for each released item"
        if ranking.shape[1] > rows:
            return f"the ranking names {ranking.shape[1]} sentences for each item, of a corpus of {rows}"
        if not np.issubdtype(ranking.dtype, np.integer):
            return f"the ranking holds {ranking.dtype} values; expected whole row numbers of the corpus"
        if ranking.min() < 0 or ranking.max() >= rows:
            return f"the ranking names row {ranking.max()} or {ranking.min()} of a corpus of {rows} rows"
    if guess.vectors is not None:
        vectors = np.asarray(guess.vectors)
        if vectors.ndim != 2 or vectors.shape[1] != dim or not len(vectors):
            return f"the vectors have shape {vectors.shape}; expected r × {dim}"
        if len(vectors) > SURPLUS * items:
            return f"{len(vectors)} vectors were guessed for {items} released items"
        if not np.isfinite(vectors).all():
            return "the vectors hold NaN or infinite values"
    if guess.texts is not None and len(guess.texts) != items:
        return f"{len(guess.texts)} texts were guessed for {items} released items"
    if guess.confidence is not None:
        confidence = np.asarray(guess.confidence)
        if confidence.shape != (items,) or not np.isfinite(confidence).all():
            return f"confidence has shape {confidence.shape}; expected {items} finite numbers"
    return None
