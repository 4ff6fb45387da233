"""Sentences as trees that know how they could be got wrong.

An unacceptable demo sentence is an acceptable one in which a single phrase was replaced by one of its faults,
so the acceptability label follows from how the sentence was built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.datasets.demo.words import an

__all__ = ["Fault", "Part", "Phrase", "corrupt", "faults_in", "spell"]


class Phrase:
    __slots__ = ("faults", "parts")

    def __init__(self, *parts: Part, faults: tuple[Fault, ...] = ()) -> None:
        self.parts = parts
        self.faults = faults


Part = str | Phrase
Fault = tuple[str, Part]  # its kind, and what stands in place of the sound phrase


def faults_in(phrase: Phrase) -> list[tuple[str, Phrase, Part]]:
    """Every way to get a phrase wrong: kind, the phrase, what replaces it."""
    found = [(kind, phrase, instead) for kind, instead in phrase.faults]
    for part in phrase.parts:
        if not isinstance(part, str):
            found += faults_in(part)
    return found


def _flatten(phrase: Phrase, out: list[str], broken: Phrase | None, instead: Part) -> None:
    parts: tuple[Part, ...] = phrase.parts
    if phrase is broken:
        parts, broken = (instead,), None
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        else:
            _flatten(part, out, broken, instead)


def spell(phrase: Phrase, broken: Phrase | None = None, instead: Part = "") -> str:
    """The phrase as text, with `broken` replaced: spacing, a or an, punctuation and the capital."""
    out: list[str] = []
    _flatten(phrase, out, broken, instead)
    words = " ".join(out).split()
    for place, word in enumerate(words[:-1]):
        if word == "a":
            words[place] = an(words[place + 1])
    text = " ".join(words).replace(" ,", ",")
    text = text[:-2] + text[-1] if text[-1] in "?!" else text + "."
    return text[0].upper() + text[1:]


def corrupt(phrase: Phrase, pick: Callable[[Sequence[Any]], Any]) -> tuple[str, str]:
    """The text with one fault, and the kind of that fault.

    The kind is drawn first: determiners are everywhere, and would otherwise be most of the errors.
    """
    faults = faults_in(phrase)
    chosen = pick(list(dict.fromkeys(kind for kind, _, _ in faults)))
    kind, broken, instead = pick([fault for fault in faults if fault[0] == chosen])
    return spell(phrase, broken, instead), kind
