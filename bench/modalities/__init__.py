"""What the private examples are: text or images. Each is a module that says all in which the two differ.

A modality is found by its word in `on` of a data set, an encoder or an attack. Adding one takes its module and that
word in bench.plugins.decorators, besides the field of `bench.Examples` that holds the examples themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from bench.arrays import Floats
from bench.types import Examples, Key

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity
    from bench.toolkit.networks import Victim

Progress = Callable[[str], None]


class Modality(Protocol):
    """How examples of one sort are hashed, joined, encoded, trained on, compared and made up."""

    nameable: bool
    """an attacker may have a corpus of examples to name, and sees it where he asks for it"""
    synthetic: Mapping[str, Sequence[str]]
    """data set and encoder that conformance checks run on (bench.conformance.synthetic)"""

    def content(self, examples: Examples) -> bytes:
        """What goes into the fingerprint of a data set besides texts, labels and classes."""

    def joined(self, first: Examples, second: Examples) -> Examples:
        """Both, one after the other; their classes are the same."""

    def encode(self, encoder: Any, name: str, examples: Examples, device: str, progress: Progress) -> Floats:
        """The encoder's vectors, checked, from the cache as far as possible."""

    def victim(
        self, encoder: Any, name: str, private: Examples, key: Key, dim: int, rng: np.random.Generator
    ) -> Victim:
        """The model that a client trains, and whose gradients it may release."""

    def inputs(self, private: Examples, encodings: Floats, key: Key, rows: slice) -> tuple[Any, ...]:
        """What enters that model for some items: inputs n × k × …, and the shares, noise and masks they mix with."""

    def similarity(self, corpus: tuple[str, ...], device: str) -> Similarity | None:
        """Compares the texts of examples with those of answers, where they are texts."""

    def scorer_fingerprint(self) -> str | None:
        """Of the weights that scoring depends on."""


def get(name: str) -> Modality:
    return cast(Modality, import_module(f"bench.modalities.{name}"))


def of(examples: Examples) -> Modality:
    return get(examples.modality)


def entry_points(name: str, *functions: str) -> tuple[str, ...]:
    """Where the code of some functions of a modality begins (bench.experiment.provenance)."""
    return tuple(f"bench.modalities.{name}:{function}" for function in functions)
