"""A text for each released item, which need not stand in the corpus. Scored as a ranking of one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Ints
from bench.scoring.kinds.base import Arrays, Expected, Facts, Scores
from bench.scoring.kinds.ranking import Ranking, score_answers
from bench.scoring.metrics.corpus import NOTHING
from bench.scoring.truth import Truth
from bench.types import Guess

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity


def score(
    guess: Guess, truth: Truth, similarity: Similarity, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    texts = list(guess.texts or ())
    row = {text: i for i, text in enumerate(truth.corpus.texts)}
    rows = np.array([[row.get(text, NOTHING)] for text in texts], dtype=np.int64)
    return score_answers(guess, truth, similarity, rng, rows, texts)


class Texts(Ranking):
    name = "texts"
    score = staticmethod(score)

    def pack(self, guess: Guess) -> tuple[Facts, Arrays]:
        return {"texts": [str(text) for text in guess.texts or ()]}, {}

    def unpack(self, facts: Facts, arrays: Arrays) -> Any:
        texts = facts.get("texts")
        if texts is not None and not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            raise ValueError("the texts of its guess are not a list of strings")
        return texts

    def check(self, guess: Guess, expected: Expected) -> str | None:
        count = len(guess.texts or ())
        return None if count == expected.items else f"{count} texts were guessed for {expected.items} released items"

    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        assert first.texts is not None
        assert other.texts is not None
        return float(np.mean([first.texts[i] == text for i, text in zip(order, other.texts, strict=True)]))

    def describe(self, guess: Guess) -> str:
        return f"{len(guess.texts or ())} texts"
