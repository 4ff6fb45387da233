"""The table of metrics: every function under `@metric` (bench.scoring.metrics) is one row of it.

What a row says of its metric, from its title to whether it is a share, is read from here by tables, the page,
validation, tiers and docs/metrics.md. None of it changes a number, so no record depends on this module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Basis = Literal["texts", "ranking", "vectors", "sentences", "images", "candidates", "recovered", "batches", "written"]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class MetricInfo:
    """A metric as it is computed from one basis. Some names have a row for more than one."""

    name: str
    of: Basis
    """what it is computed from: the first answer's text, a ranking, matched vectors, the sentences nearest to those,
    images, sentences recovered from updates, what was read of whole batches, or free text"""
    title: str
    """on one line, for the legend of a table"""
    explanation: str
    """for docs/metrics.md: the docstring of its function"""
    order: int
    """place in tables"""
    share: bool
    """lies between 0 and 1"""
    leak: bool
    """its value per example is the leak by which defenses are ranked"""
    per: Literal["item", "example"]
    worst: float
    """what a reconstruction counts that belongs to no example"""
    function: Callable[[Any], Any]

    @property
    def entry_point(self) -> str:
        """Where the code of the metric begins (bench.experiment.provenance)."""
        return f"{self.function.__module__}:{self.function.__name__}"


@dataclass(frozen=True)
class Description:
    """What readers are told of a metric, whatever it is computed from."""

    name: str
    title: str
    explanation: str
    share: bool
    leak: bool
    order: int


class MetricTable(Mapping[str, Description]):
    """Metrics by name, in the order in which tables show them."""

    def __init__(self) -> None:
        self._rows: list[MetricInfo] = []

    def add(self, row: MetricInfo) -> None:
        if any((known.name, known.of) == (row.name, row.of) for known in self._rows):
            raise ValueError(f"there are two metrics {row.name!r} of {row.of}")
        self._rows.append(row)

    def of(self, *bases: str) -> list[MetricInfo]:
        """The metrics of these bases, as they are defined: intervals draw their random numbers in this order."""
        return [row for row in self._rows if row.of in bases]

    def leak_of(self, *bases: str) -> str:
        """The metric whose values per example are the leak."""
        return next(row.name for row in self._rows if row.leak and row.of in bases)

    def ordered(self, names: Mapping[str, Any]) -> list[str]:
        """Names of metrics as tables show them; unknown ones, of records of later versions, come last."""
        return [name for name in self if name in names] + sorted(set(names) - set(self))

    def __getitem__(self, name: str) -> Description:
        rows = [row for row in self._rows if row.name == name]
        if not rows:
            raise KeyError(name)
        first = rows[0]
        explanation = " ".join(dict.fromkeys(row.explanation for row in rows))
        leak = any(row.leak for row in rows)
        return Description(name, first.title, explanation, first.share, leak, min(row.order for row in rows))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(row.name for row in sorted(self._rows, key=lambda row: row.order)))

    def __len__(self) -> int:
        return len({row.name for row in self._rows})


METRICS = MetricTable()


def metric(
    name: str,
    *,
    of: Basis,
    title: str,
    order: int,
    share: bool = False,
    leak: bool = False,
    per: Literal["item", "example"] = "item",
    worst: float = 0.0,
) -> Callable[[F], F]:
    """Registers a function as a metric; its docstring is the explanation that readers see."""

    def decorate(function: F) -> F:
        explanation = " ".join((inspect.getdoc(function) or "").split())
        METRICS.add(MetricInfo(name, of, title, explanation, order, share, leak, per, worst, function))
        return function

    return decorate
