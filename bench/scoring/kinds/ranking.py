"""A ranking of corpus sentences for each released item: the five metrics of TextHide, recall and success."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bench.arrays import Ints
from bench.scoring.kinds import blind
from bench.scoring.kinds.base import Expected, Kind, Scores, Values, combined, intervals, item_table
from bench.scoring.metrics.corpus import NOTHING, Answers, share_named
from bench.scoring.table import METRICS
from bench.scoring.truth import Truth
from bench.types import Guess

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity

# Corpus sentences and examples that stand for all others when the random level of the text metrics is measured.
SAMPLE = 1000
# Random guessers simulated for the metrics that count rare hits.
GUESSERS = 200


BASES = ("texts", "ranking")


def score(
    guess: Guess, truth: Truth, similarity: Similarity, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    rows = np.asarray(guess.ranking, dtype=np.int64)
    return score_answers(guess, truth, similarity, rng, rows, [truth.corpus.texts[row] for row in rows[:, 0]])


def score_answers(
    guess: Guess, truth: Truth, similarity: Similarity, rng: np.random.Generator, rows: Ints, first: Sequence[str]
) -> Scores:
    """`rows` are the corpus rows of the answers to each item, best first, and `first` the texts of the first ones."""
    # Streams of their own: the random level must not depend on how many draws the intervals took.
    rng, chance = rng.spawn(2)
    owner = truth.key.owner
    private, corpus = truth.text_numbers()
    answers = Answers(np.where(rows == NOTHING, NOTHING, corpus[rows]), private, corpus, truth.key)
    given: dict[str, Any] = {"texts": similarity.pairs(truth, owner, first, rows[:, 0]), "ranking": answers}
    table = METRICS.of(*BASES)
    values: dict[str, Values] = {row.name: row.function(given[row.of]) for row in table}
    metrics = intervals(table, values, owner, rng)
    level = {**_random_texts(truth, similarity, owner, chance), **_random_answers(truth, answers, chance)}
    items: dict[str, Any] = {row.name: values[row.name] for row in table if row.per == "item"}
    facts: dict[str, Any] = {}
    if guess.confidence is not None:
        facts["confidence_auc"] = _auc(share_named(answers, None) == 1.0, guess.confidence)
        items["confidence"] = np.asarray(guess.confidence, dtype=np.float64)
    asked = item_table(truth, owner, first, items)
    return Scores(combined(metrics, level), asked, facts, owner, METRICS.leak_of(*BASES))


class Ranking(Kind):
    name = "ranking"
    bases = BASES
    score = staticmethod(score)

    def check(self, guess: Guess, expected: Expected) -> str | None:
        ranking, rows = np.asarray(guess.ranking), expected.rows
        if ranking.ndim != 2 or len(ranking) != expected.items or not ranking.shape[1]:
            return f"the ranking has shape {ranking.shape}; expected {expected.items} × t, a row for each released item"
        if ranking.shape[1] > rows:
            return f"the ranking names {ranking.shape[1]} sentences for each item, of a corpus of {rows}"
        if not np.issubdtype(ranking.dtype, np.integer):
            return f"the ranking holds {ranking.dtype} values; expected whole row numbers of the corpus"
        if ranking.min() < 0 or ranking.max() >= rows:
            return f"the ranking names row {ranking.max()} or {ranking.min()} of a corpus of {rows} rows"
        return None

    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        """Of an item's first answers, as many as are mixed: an attack may order them so as to name each once."""
        one, two = np.asarray(first.ranking)[order, :width], np.asarray(other.ranking)[:, :width]
        return float((one[:, :, None] == two[:, None, :]).any(axis=2).mean()) if one.shape == two.shape else 0.0


def _random_texts(
    truth: Truth, similarity: Similarity, owner: Ints, rng: np.random.Generator
) -> dict[str, dict[str, float]]:
    """What an attacker reaches who names corpus sentences at random: the mean over a sample, and its 95 % range."""
    n, rows = len(owner), len(truth.corpus.texts)
    queries = owner if n <= SAMPLE else rng.choice(owner, SAMPLE, replace=False)
    pool = np.arange(rows) if rows <= SAMPLE else rng.choice(rows, SAMPLE, replace=False)
    compared = similarity.table(truth, queries, pool)
    found: dict[str, dict[str, float]] = {}
    for row in METRICS.of("texts"):
        values = row.function(compared)
        # Queries are given, answers random: the mean over n of them varies with the spread inside each row.
        mean, spread = float(values.mean()), 1.96 * float(np.sqrt(values.var(axis=1).mean() / n))
        found[row.name] = {"random": mean, "random_low": mean - spread, "random_high": mean + spread}
        if rows < blind.SMALL:
            found = {**found, **blind.better({row.name: found[row.name]}, {row.name: blind.constant(values)})}
    return found


def _random_answers(truth: Truth, answers: Answers, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """The same for metrics that count rare hits, from simulated attackers."""
    rows, shape = len(truth.corpus.texts), (len(truth.key.owner), truth.key.members.shape[1])
    level = _level(answers, (answers.corpus[rng.integers(0, rows, shape)] for _ in range(GUESSERS)))
    if rows < blind.SMALL:
        for strategy in (blind.distinct, blind.steady):
            named = (strategy(answers.corpus, *shape, rng) for _ in range(GUESSERS))
            level = blind.better(level, _level(answers, named))
    return level


def _level(answers: Answers, guesses: Iterable[Ints]) -> dict[str, dict[str, float]]:
    """What attackers reach who name these texts, and the range of 95 % of them."""
    table = METRICS.of("ranking")
    means: dict[str, list[float]] = {row.name: [] for row in table}
    for named in guesses:
        guess = Answers(named, answers.private, answers.corpus, answers.key)
        for row in table:
            values = row.function(guess)
            known = values[~np.isnan(values)]
            means[row.name].append(float(known.mean()) if len(known) else 0.0)
    found: dict[str, dict[str, float]] = {}
    for name, some in means.items():
        low, high = np.quantile(some, [0.025, 0.975])
        found[name] = {"random": float(np.mean(some)), "random_low": float(low), "random_high": float(high)}
    return found


def _auc(right: npt.NDArray[np.bool_], confidence: Any) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(right, confidence)) if right.any() and not right.all() else None
