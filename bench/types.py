"""The values that travel along a run: examples, release, key, guess."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints
from bench.errors import DataError


@dataclass(frozen=True)
class Examples:
    """Texts with their labels. `classes` is empty for a regression, where labels are real numbers.

    Pictures are examples too: `images` is then n × channels × height × width in [0, 1], and `texts` are their names.
    """

    texts: list[str]
    labels: npt.NDArray[Any]
    classes: tuple[str, ...] = ()
    images: Floats | None = None

    def __init__(
        self,
        texts: Sequence[str],
        labels: Sequence[Any] | npt.NDArray[Any],
        classes: Sequence[str] = (),
        images: npt.ArrayLike | None = None,
    ):
        array = np.asarray(labels, dtype=np.int64 if classes else np.float32)
        if len(texts) != len(array):
            raise DataError(f"{len(texts)} texts but {len(array)} labels")
        if classes and len(array) and not 0 <= array.min() <= array.max() < len(classes):
            raise DataError(f"class numbers must lie between 0 and {len(classes) - 1}")
        if not np.isfinite(array).all():
            raise DataError("labels must be finite numbers")
        object.__setattr__(self, "texts", list(texts))
        object.__setattr__(self, "labels", array)
        object.__setattr__(self, "classes", tuple(classes))
        object.__setattr__(self, "images", None if images is None else _pictures(images, len(array)))

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Ints) -> Examples:
        """Some of them, in this order."""
        images = None if self.images is None else self.images[rows]
        return Examples([self.texts[i] for i in rows], self.labels[rows], self.classes, images)

    @property
    def modality(self) -> str:
        """What the examples are: its name in bench.modalities."""
        return "text" if self.images is None else "images"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one example, where it has one: channels, height and width of an image."""
        return () if self.images is None else self.images.shape[1:]

    def targets(self) -> Floats:
        """What a client trains on: one-hot rows, or one column of scores."""
        if not self.classes:
            return self.labels.astype(np.float32)[:, None]
        rows: Floats = np.eye(len(self.classes), dtype=np.float32)[self.labels]
        return rows


def _pictures(images: npt.ArrayLike, count: int) -> Floats:
    array: Floats = np.asarray(images, dtype=np.float32)
    if array.ndim != 4 or len(array) != count:
        raise DataError(f"pictures of shape {array.shape} for {count} examples: expected {count} × channels × h × w")
    if count and not (array.min() >= 0 and array.max() <= 1):
        raise DataError("pictures must lie between 0 and 1: divide bytes by 255")
    return array


@dataclass(frozen=True)
class Release:
    """What leaves the client. `encodings` is n × d, `labels` n × classes."""

    encodings: Any
    labels: Any
    notes: dict[str, Any] = field(default_factory=dict)
    """public facts for the record, such as a nominal and an accounted ε"""


@dataclass(frozen=True)
class Key:
    """All that the client keeps: enough to compute the release again from the vectors.

    Item i belongs to example `owner[i]` and mixes examples `members[i]` (-1 where the slot holds a public
    sentence, whose row is then in `public[i]`) with `weights[i]`; its signs are `pool[mask[i]]` (-1: none).
    """

    owner: Ints
    members: Ints
    weights: Floats
    mask: Ints | None = None
    pool: npt.NDArray[np.int8] | None = None
    one_time: bool = False
    """masks are never drawn again (m = inf), so the pool is of no use for a further release"""
    public: Ints | None = None
    scale: Floats | None = None
    """factor of each example's vector before mixing, where vectors are clipped"""
    noise: Floats | None = None


# The kinds of guess at encodings and gradients: fields of Guess, each with a class of its own in bench.scoring.kinds.
KINDS = ("ranking", "vectors", "texts", "images")


@dataclass(frozen=True)
class Guess:
    """An attack's answer: exactly one of a ranking of corpus rows per item, vectors, texts per item, or pictures."""

    ranking: npt.NDArray[Any] | None = None
    vectors: npt.NDArray[Any] | None = None
    texts: Sequence[str] | None = None
    images: npt.NDArray[Any] | None = None
    """items × dummies × channels × height × width: one picture or, for a mix, several for each item"""
    confidence: npt.NDArray[Any] | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """facts about the attack for the record, such as the accuracy of a network it trained; plain JSON"""
    trail: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    """the way to some of the pictures, for curves over time, which the attack cannot draw without the truth:
    `steps` p, `distance` a × p and `images` a × p × dummies × … for the first a items, and `masks` a × p × d"""

    @property
    def given(self) -> tuple[str, ...]:
        """The kinds that it holds: one, in a guess that is well formed."""
        return tuple(name for name in KINDS if getattr(self, name) is not None)


@dataclass(frozen=True)
class Reading:
    """What an attack reads out of one update."""

    sentences: Sequence[Sequence[int] | str] = ()
    """at most as many as the batch has: the token numbers of each with all special ones, or its text"""
    tokens: Sequence[int] | None = None
    """the words of the batch; None for those of the sentences"""
    certified: bool = False
    """the attack holds that nothing is missing and nothing wrong"""


@dataclass(frozen=True)
class Readings(Guess):
    """The guess of an attack that sees updates: a reading of each, in their order."""

    readings: Sequence[Reading] = ()

    @property
    def given(self) -> tuple[str, ...]:
        return (*super().given, "readings")


@dataclass(frozen=True)
class Written(Guess):
    """The guess of an attack that writes free text, and names no sentence of a corpus."""

    written: Sequence[str] = ()
    ordered: bool = True
    """a text for each released item, in their order; False: texts in any number and order"""

    @property
    def given(self) -> tuple[str, ...]:
        return (*super().given, "written")


# All kinds of guess.
EVERY_KIND = (*KINDS, "readings", "written")
