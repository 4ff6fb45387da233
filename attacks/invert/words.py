"""Texts as rows of words: what the decoder writes, the bag predicts and the edits move.

Words and not the encoder's own tokens, so that an encoder need only be called: runs of letters and digits, and single
other signs. Most encoders read "don't" and "don ' t" alike; spelling is restored by rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bench import Ints

PAD, BEGIN, END, UNKNOWN = range(4)
SPECIAL = 4
"""numbers that stand for no word"""
_WORD = re.compile(r"\w+|[^\w\s]")
_LEFT, _RIGHT = frozenset(".,;:!?)]}%'’…"), frozenset("([{$#'’")
"""signs that stand close to the word before them, and to the word after them"""


def words_of(text: str, fold: bool) -> list[str]:
    return _WORD.findall(text.lower() if fold else text)


def spelled(words: Sequence[str]) -> str:
    """The text of some words, with spaces where English has them."""
    parts: list[str] = []
    for at, word in enumerate(words):
        close = at == 0 or word in _LEFT or words[at - 1] in _RIGHT
        parts.append(word if close else f" {word}")
    return "".join(parts)


def folds_case(encoder: Any) -> bool:
    """Whether the encoder reads capitals as small letters, so that no vector tells them apart."""
    one, two = encoder.encode(["The Cat sat in London.", "the cat sat in london."])
    return bool(np.array_equal(one, two))


@dataclass(frozen=True)
class Vocabulary:
    """Words by number, the frequent ones first."""

    words: tuple[str, ...]
    fold: bool

    @classmethod
    def of(cls, texts: Iterable[str], fold: bool, most: int, least: int = 1) -> Vocabulary:
        counts = Counter(word for text in texts for word in words_of(text, fold))
        frequent = sorted((-count, word) for word, count in counts.items() if count >= least)
        return cls(tuple(word for _, word in frequent[:most]), fold)

    def widened(self, words: Iterable[str]) -> Vocabulary:
        """With more words, after those that it has."""
        return Vocabulary(tuple(dict.fromkeys([*self.words, *words])), self.fold)

    def __len__(self) -> int:
        return SPECIAL + len(self.words)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: at + SPECIAL for at, word in enumerate(self.words)}

    def numbers(self, text: str) -> list[int]:
        return [self._numbers.get(word, UNKNOWN) for word in words_of(text, self.fold)]

    def text(self, numbers: Iterable[int]) -> str:
        return spelled([self.words[i - SPECIAL] for i in numbers if i >= SPECIAL])

    def rows(self, texts: Sequence[str], length: int) -> Ints:
        """One row each: its words, END, and PAD to the right; what is longer is cut, without an END."""
        found = np.full((len(texts), length + 1), PAD, dtype=np.int32)
        for row, text in enumerate(texts):
            numbers = [*self.numbers(text), END][: length + 1]
            found[row, : len(numbers)] = numbers
        return found.astype(np.int64)
