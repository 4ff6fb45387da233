"""What every kind of guess has to say: how it travels, what is wrong with one, and how it is scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bench.arrays import Ints
from bench.scoring.intervals import mean_interval
from bench.scoring.table import METRICS, MetricInfo
from bench.scoring.truth import Truth, UpdateTruth
from bench.types import Guess

Values = npt.NDArray[np.float64]
Facts = dict[str, Any]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Scores:
    metrics: dict[str, dict[str, float]]
    items: dict[str, Any]
    """per scored item: its example, the first answer, every metric"""
    facts: Facts
    owner: Ints
    """the private example that each of them belongs to"""
    leak: str
    """the metric whose values are the leak of those examples"""


@dataclass(frozen=True)
class Expected:
    """What a guess has to fit."""

    modality: str
    items: int
    """released items"""
    width: int
    """examples mixed into an item"""
    rows: int
    """of the corpus"""
    dim: int
    """of the vectors"""
    shape: tuple[int, ...] = ()
    """of one example, where it has one: channels, height and width of an image"""
    batch: int = 0
    """sentences in an update; 0 where no updates are seen"""

    @classmethod
    def of(cls, truth: Truth) -> Expected:
        items, width = truth.key.members.shape
        shape = truth.private.shape
        batch = truth.batches.size if isinstance(truth, UpdateTruth) else 0
        return cls(truth.private.modality, items, width, len(truth.corpus.texts), truth.vectors.shape[1], shape, batch)


class Kind(ABC):
    """One kind of guess."""

    name: ClassVar[str]
    """of the field of `Guess` that holds it"""
    modality: ClassVar[str] = "text"
    """what the private examples are"""
    of_updates: ClassVar[bool] = False
    """it answers to updates, and not to encodings or gradients"""
    bases: ClassVar[tuple[str, ...]]
    """what its metrics are computed from (`of` in bench.scoring.metrics)"""
    score: ClassVar[Callable[..., Scores]]
    """`score(guess, truth, similarity, rng, named=True)` of its module, where its provenance begins.
    `named=False` for an attack without a corpus, which names no sentences"""

    def pack(self, guess: Guess) -> tuple[Facts, Arrays]:
        """For the way to another process, or into a file: plain JSON, and plain arrays."""
        return {}, {self.name: np.asarray(getattr(guess, self.name))}

    def unpack(self, facts: Facts, arrays: Arrays) -> Any:
        """The opposite, or None if there is none of this kind. ValueError says what is wrong; nothing is trusted."""
        return arrays.get(self.name)

    @abstractmethod
    def check(self, guess: Guess, expected: Expected) -> str | None:
        """What is wrong with a guess, in words for its author."""

    @abstractmethod
    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        """The share of answers that are the same, where `other` was made for item `order[i]` in place i."""

    def describe(self, guess: Guess) -> str:
        array = np.asarray(getattr(guess, self.name))
        return f"{self.name} {' × '.join(map(str, array.shape))} {array.dtype}"


def intervals(
    rows: Sequence[MetricInfo], values: Mapping[str, Values], owner: Ints, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """Mean and 95 % interval of each metric, in the order of the table, which is that of the random numbers."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        each = values[row.name]
        example = np.arange(len(each)) if row.per == "example" else owner
        mean, low, high = mean_interval(each, example, rng)
        found[row.name] = {"value": mean, "low": low, "high": high}
    return found


def random_level(means: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    """Mean and range over a few blind attackers."""
    return {
        name: {"random": float(np.mean(some)), "random_low": min(some), "random_high": max(some)}
        for name, some in means.items()
    }


def combined(*tables: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Columns of the same metrics side by side, in the order in which tables show them."""
    return {
        name: {key: value for table in tables for key, value in table.get(name, {}).items()}
        for name in METRICS.ordered(tables[0])
    }


def item_table(truth: Truth, owner: Ints, answer: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "example": [truth.private.texts[i] for i in owner],
        "example_label": truth.private.labels[owner],
        "answer": list(answer),
        **values,
    }
