"""What `--details` keeps of each released item beyond its scores: the whole ranking, and what was mixed into it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.scoring.truth import Truth, UpdateTruth
from bench.types import Guess


def with_mixes(items: dict[str, Any], guess: Guess, truth: Truth) -> dict[str, Any]:
    """`items` with further columns, a list for each item: `members` and `weights` of its mix, and of a guess that ranks
    the corpus all `answers`, best first. A slot with a public sentence has no member (None).

    Texts, as many as were mixed or named: for the ordinary thousand items some MiB.
    """
    key = truth.key
    if truth.private.modality != "text" or isinstance(truth, UpdateTruth) or len(items["example"]) != len(key.owner):
        return items
    texts = np.array([*truth.private.texts, None], dtype=object)  # the last one is what -1 stands for
    found = {**items, "members": list(texts[key.members]), "weights": list(np.asarray(key.weights, dtype=np.float64))}
    if guess.ranking is not None:
        found["answers"] = list(np.array(truth.corpus.texts, dtype=object)[np.asarray(guess.ranking)])
    return found
