"""What became of each private example, packed into the record: enough to compare two runs example by example.

The leak of an example is the share of it that the attack named: `recall` where the guess is a ranking, over the items
that belong to the example; `success` where vectors or pictures were reconstructed, which are matched to it as a whole.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from bench.records.model import Record
    from bench.scoring.text import Scores
    from bench.scoring.truth import Truth
    from bench.types import Guess

Values = npt.NDArray[np.float64]


class Asked(Protocol):
    """What a cell's suite asks to be kept of its answers."""

    @property
    def samples(self) -> int: ...

    @property
    def answers(self) -> bool: ...


def headline(record: Record) -> str | None:
    """The metric that says how much a record's attack found; None where it has nothing to say on examples."""
    outcomes = record.get("outcomes")
    return outcomes["metric"] if outcomes else None


def of(guess: Guess, truth: Truth, scores: Scores) -> dict[str, Any] | None:
    """The leak of every private example, in their order. Half precision: these are shares, to be averaged."""
    ranked = guess.ranking is not None or guess.texts is not None
    metric = "recall" if ranked else "success"
    if metric not in scores.items:
        return None  # an attack without a corpus, scored on vectors alone
    values = np.asarray(scores.items[metric], dtype=np.float64)
    n = len(truth.private)
    owner = truth.key.owner if guess.vectors is None else np.arange(n)
    known = ~np.isnan(values)
    sums = np.bincount(owner[known], values[known], minlength=n)
    counts = np.bincount(owner[known], minlength=n)
    leak = np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)
    return {"metric": metric, "values": base64.b64encode(leak.astype("<f2").tobytes()).decode()}


def values(record: Record) -> Values | None:
    outcomes = record.get("outcomes")
    if not outcomes:
        return None
    return np.frombuffer(base64.b64decode(outcomes["values"]), dtype="<f2").astype(np.float64)


def samples(cell: Asked, scores: Scores) -> list[dict[str, Any]]:
    """Some questions with their answers, as many as the suite asks for: the same examples whatever the defense.

    A wrong answer is a sentence of the data set too: unless the suite wants it, its similarity stands for it.
    """
    items = scores.items
    if "answer" not in items or "identity" not in items:
        return []  # pictures, or vectors of an attack that names no sentences
    found: list[dict[str, Any]] = []
    for i in _chosen(items["example"], cell.samples):
        example, answer = items["example"][i], items["answer"][i]
        right = bool(items["hit"][i] if "hit" in items else items["identity"][i])
        measures = {name: round(float(items[name][i]), 3) for name in ("jaccard", "tfidf", "sbert") if name in items}
        shown = answer if cell.answers or answer == example else None
        sample: dict[str, Any] = {"example": example, "answer": shown, "right": right}
        found.append(sample | measures)
    return found


def enough(record: Record, cell: Asked) -> bool:
    """Whether a record holds the samples that the cell's suite asks for; another suite may have asked for fewer."""
    if not cell.samples:
        return True
    kept: list[dict[str, Any]] | None = record.get("samples")
    if kept is None:
        return False
    wanted = min(cell.samples, record["protocol"]["examples"])
    # None at all: the attack names no sentences.
    return not kept or (len(kept) >= wanted and all(s["answer"] is not None or not cell.answers for s in kept))


def _chosen(examples: Sequence[str], count: int) -> list[int]:
    """Places of so many different examples. Defenses release them in different orders: a hash of the text decides."""
    first = {text: i for i, text in reversed(list(enumerate(examples)))}
    order = sorted(first, key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return [first[text] for text in order[:count]]
