"""Numbers that can be looked up: each is a value of a record, with the record's id and where in it the value stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.records.model import Record


@dataclass(frozen=True)
class Figure:
    """A number of the report."""

    value: float
    text: str
    """as it is printed"""
    record: str
    """id of the record that holds it"""
    at: str
    """where it stands there, such as metrics.recall.value"""

    def __str__(self) -> str:
        return self.text


# A sentence: words, and figures between them.
Sentence = tuple[str | Figure, ...]


def look_up(content: Mapping[str, Any], at: str) -> Any:
    """The value at a place such as metrics.recall.value; None if there is none."""
    found: Any = content
    for key in at.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def figure(record: Record, at: str, show: Callable[[float], str]) -> Figure | None:
    """The number at a place of a record; None where there is none. Infinity is text in a record."""
    found = look_up(record.to_dict(), at)
    if found is None or isinstance(found, bool):
        return None
    try:
        value = float(found)
    except (TypeError, ValueError):
        return None
    return Figure(value, show(value), record.id, at)


def plain(sentence: Sentence) -> str:
    return "".join(map(str, sentence))


def joined(parts: list[Sentence], between: str = ", ", last: str = " and ") -> Sentence:
    """a, b and c."""
    found: list[str | Figure] = []
    for at, part in enumerate(parts):
        found += [] if at == 0 else [last if at == len(parts) - 1 else between]
        found += part
    return tuple(found)
