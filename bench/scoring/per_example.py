"""What became of each private example, packed into the record: enough to compare two runs example by example.

The leak of an example is the share of it that the attack named: the metric of the table that is marked as `leak` for
this kind of guess, over the items that belong to the example.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bench.scoring.kinds.base import Scores
    from bench.scoring.truth import Truth

Values = npt.NDArray[np.float64]
# Text metrics that stand beside a sample's answer, or for it where it is not shown.
MEASURES = ("jaccard", "tfidf", "sbert")


class Wanted(Protocol):
    """What a cell's suite asks to be kept of its answers."""

    @property
    def samples(self) -> int: ...

    @property
    def answers(self) -> bool: ...


class Packed(Protocol):
    @property
    def metric(self) -> str: ...

    @property
    def values(self) -> str: ...


class Sampled(Protocol):
    @property
    def answer(self) -> str | None: ...


class Stored(Protocol):
    """A record whose attack may have leaked examples."""

    @property
    def outcomes(self) -> Packed | None: ...


class Sized(Protocol):
    @property
    def examples(self) -> int: ...


class WithSamples(Protocol):
    """A record that may hold samples."""

    @property
    def samples(self) -> Sequence[Sampled] | None: ...

    @property
    def protocol(self) -> Sized: ...


def headline(record: Stored) -> str | None:
    """The metric that says how much a record's attack found; None where it has nothing to say on examples."""
    return record.outcomes.metric if record.outcomes else None


def of(truth: Truth, scores: Scores) -> dict[str, Any] | None:
    """The leak of every private example, in their order. Half precision: these are shares, to be averaged."""
    metric, owner = scores.leak, scores.owner
    if metric not in scores.items:
        return None  # an attack without a corpus, scored on vectors alone
    values = np.asarray(scores.items[metric], dtype=np.float64)
    n = len(truth.private)
    known = ~np.isnan(values)
    sums = np.bincount(owner[known], values[known], minlength=n)
    counts = np.bincount(owner[known], minlength=n)
    leak = np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)
    return {"metric": metric, "values": base64.b64encode(leak.astype("<f2").tobytes()).decode()}


def values(record: Stored) -> Values | None:
    if record.outcomes is None:
        return None
    return np.frombuffer(base64.b64decode(record.outcomes.values), dtype="<f2").astype(np.float64)


def samples(wanted: Wanted, scores: Scores) -> list[dict[str, Any]]:
    """Some questions with their answers, as many as the suite asks for: the same examples whatever the defense.

    A wrong answer is a sentence of the data set too: unless the suite wants it, its similarity stands for it.
    """
    items = scores.items
    if "answer" not in items or "identity" not in items:
        return []  # images, or vectors of an attack that names no sentences
    found: list[dict[str, Any]] = []
    for i in _chosen(items["example"], wanted.samples):
        example, answer = items["example"][i], items["answer"][i]
        right = bool(items["hit"][i] if "hit" in items else items["identity"][i])
        measures = {name: round(float(items[name][i]), 3) for name in MEASURES if name in items}
        shown = answer if wanted.answers or answer == example else None
        sample: dict[str, Any] = {"example": example, "answer": shown, "right": right}
        found.append(sample | measures)
    return found


def enough(record: WithSamples, wanted: Wanted) -> bool:
    """Whether a record holds the samples that a cell's suite asks for; another suite may have asked for fewer."""
    if not wanted.samples:
        return True
    if record.samples is None:
        return False
    count = min(wanted.samples, record.protocol.examples)
    whole = all(sample.answer is not None or not wanted.answers for sample in record.samples)
    # None at all: the attack names no sentences.
    return not record.samples or (len(record.samples) >= count and whole)


def _chosen(examples: Sequence[str], count: int) -> list[int]:
    """Places of so many different examples. Defenses release them in different orders: a hash of the text decides."""
    first = {text: i for i, text in reversed(list(enumerate(examples)))}
    order = sorted(first, key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return [first[text] for text in order[:count]]
