"""What a guess is scored against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints
from bench.toolkit.corpus import Corpus
from bench.types import Examples, Key


@dataclass(frozen=True)
class Truth:
    """All that the parent knows and the attack does not."""

    private: Examples
    vectors: Floats
    key: Key
    corpus: Corpus
    labels: npt.NDArray[Any]
    """of the corpus rows"""

    def text_numbers(self) -> tuple[Ints, Ints]:
        """Numbers of the private texts and of the corpus texts; equal texts, equal numbers. A copy is as good."""
        known: dict[str, int] = {}
        both = [known.setdefault(text, len(known)) for text in (*self.private.texts, *self.corpus.texts)]
        numbers = np.array(both, dtype=np.int64)
        return numbers[: len(self.private)], numbers[len(self.private) :]


@dataclass(frozen=True)
class Batches:
    """The sentences behind some updates, as the model sees them."""

    size: int
    """sentences in an update; the first `size` private examples are in the first one, and so on"""
    tokens: list[list[int]]
    """of each private example, as they entered the model"""
    strangers: list[list[list[int]]]
    """of the public sentences that may have entered each update, too"""
    special: frozenset[int]
    """tokens that every sentence has, such as [CLS]"""
    tokenize: Callable[[list[str]], list[list[int]]]
    decode: Callable[[list[int]], str]

    def __len__(self) -> int:
        return len(self.tokens) // self.size


@dataclass(frozen=True)
class UpdateTruth(Truth):
    """The truth of a cell whose attack sees updates."""

    batches: Batches
