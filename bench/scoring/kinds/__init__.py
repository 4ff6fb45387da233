"""The kinds of guess. Each is a class in a file of its own, named after the field of `bench.Guess` that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from bench.scoring.kinds.base import Expected, Kind, Scores
from bench.types import EVERY_KIND, Guess

__all__ = ["Expected", "Kind", "Scores", "every", "get", "kind_of", "scorer_of"]


def scorer_of(name: str) -> str:
    """Where the scoring of a kind begins (bench.experiment.provenance)."""
    return f"bench.scoring.kinds.{name}:score"


def get(name: str) -> Kind:
    kind: Kind = getattr(import_module(f"bench.scoring.kinds.{name}"), name.capitalize())()
    return kind


def every() -> Iterator[Kind]:
    return map(get, EVERY_KIND)


def kind_of(guess: Guess) -> Kind:
    """The kind of a guess that holds exactly one, as a checked one does."""
    (name,) = guess.given
    return get(name)
