"""Reconstructed vectors, in any number and order: matched one to one with the private ones, and read as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.scoring.kinds import blind
from bench.scoring.kinds.base import Expected, Kind, Scores, Values, combined, intervals, item_table, random_level
from bench.scoring.metrics.corpus import NOTHING, Matching, Sentences
from bench.scoring.table import METRICS
from bench.scoring.truth import Truth
from bench.toolkit.search import nearest, unit
from bench.types import Guess

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity

# More reconstructions than private examples count as wrong; so many more are no guess, and matching them takes hours.
SURPLUS = 20
# Blind attackers simulated for the random level, each of which needs a matching.
BLIND = 10


BASES = ("texts", "vectors", "sentences")


def score(
    guess: Guess, truth: Truth, similarity: Similarity, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    # Streams of their own: the random level must not depend on how many draws the intervals took.
    rng, chance = rng.spawn(2)
    vectors = np.asarray(guess.vectors, dtype=np.float32)
    values, first = _matched(vectors, truth, similarity, named)
    table = [row for row in METRICS.of(*BASES) if row.name in values]
    count, rows, n = len(vectors), len(truth.corpus.vectors), len(truth.vectors)
    metrics = intervals(table, values, np.arange(max(count, n)), rng)
    # The matching uses the key, so a blind attacker profits from it too: he names as many corpus vectors at random.
    guesses = [chance.choice(rows, count, replace=count > rows) for _ in range(BLIND)]
    level = _level(guesses, truth, similarity, named)
    if rows < blind.SMALL:  # then he names each sentence once, or as many as there are private examples
        lower = [row.name for row in table if row.worst > 0]
        fewer = [chance.permutation(rows)[:n] for _ in range(BLIND)]
        for some in (fewer, [np.arange(rows)]):
            level = blind.better(level, _level(some, truth, similarity, named), lower)
    answer = ["" if row == NOTHING else truth.corpus.texts[row] for row in first]
    items = item_table(truth, np.arange(n), answer, {name: value[:n] for name, value in values.items()})
    facts = {"reconstructed": count}
    return Scores(combined(metrics, level), items, facts, np.arange(n), METRICS.leak_of(*BASES))


def _level(guesses: Sequence[Ints], truth: Truth, similarity: Similarity, named: bool) -> dict[str, dict[str, float]]:
    """What attackers reach who hand in the vectors of these corpus rows."""
    means: dict[str, list[float]] = {}
    for rows in guesses:
        for name, value in _matched(truth.corpus.vectors[rows], truth, similarity, named)[0].items():
            means.setdefault(name, []).append(float(value.mean()))
    return random_level(means)


class Vectors(Kind):
    name = "vectors"
    bases = BASES
    score = staticmethod(score)

    def check(self, guess: Guess, expected: Expected) -> str | None:
        vectors = np.asarray(guess.vectors)
        if vectors.ndim != 2 or vectors.shape[1] != expected.dim or not len(vectors):
            return f"the vectors have shape {vectors.shape}; expected r × {expected.dim}"
        if len(vectors) > SURPLUS * expected.items:
            return f"{len(vectors)} vectors were guessed for {expected.items} released items"
        if not np.isfinite(vectors).all():
            return "the vectors hold NaN or infinite values"
        return None

    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        """Their order says nothing: the mean cosine of those that match best."""
        from scipy.optimize import linear_sum_assignment

        cosine = unit(np.asarray(first.vectors)) @ unit(np.asarray(other.vectors)).T
        cosine = np.where(np.isclose(cosine, 1, atol=1e-5), 1, cosine)
        return float(cosine[linear_sum_assignment(-cosine)].sum() / max(cosine.shape))


def _matched(vectors: Floats, truth: Truth, similarity: Similarity, named: bool) -> tuple[dict[str, Values], Ints]:
    """Values per example, and per reconstruction beyond their number: those count as wrong, or guessing the whole
    corpus would find everything. Also the corpus row that each example's reconstruction stands for."""
    from scipy.optimize import linear_sum_assignment

    cosine = unit(truth.vectors) @ unit(vectors).T
    example, match = linear_sum_assignment(-cosine)
    n = len(truth.vectors)
    cos, error = np.zeros(n), np.ones(n)
    cos[example] = cosine[example, match]
    gap = np.linalg.norm(truth.vectors[example] - vectors[match], axis=1)
    error[example] = gap / np.maximum(np.linalg.norm(truth.vectors[example], axis=1), 1e-12)
    first = np.full(n, NOTHING)
    given: dict[str, Any] = {"vectors": Matching(cos, error)}
    if named:
        first[example] = nearest(vectors[match], truth.corpus.vectors)[:, 0]
        private, corpus = truth.text_numbers()
        answer = [truth.corpus.texts[row] for row in np.maximum(first, 0)]
        given["texts"] = similarity.pairs(truth, np.arange(n), answer, first)
        given["sentences"] = Sentences(np.where(first == NOTHING, NOTHING, corpus[first]), private)
    values: dict[str, Values] = {}
    surplus = max(0, len(vectors) - n)
    for row in METRICS.of(*given):
        each = row.function(given[row.of])
        if row.of == "texts":  # an example that was given no answer gave nothing away
            each = np.where(first == NOTHING, 0.0, each)
        values[row.name] = np.concatenate([each, np.full(surplus, row.worst)])
    return values, first
