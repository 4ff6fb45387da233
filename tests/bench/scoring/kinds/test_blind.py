"""The random level of small corpora: what knows nothing must not pass for an attack."""

from __future__ import annotations

import numpy as np
import pytest

from bench.scoring.kinds import blind
from bench.scoring.similarity import Similarity
from bench.types import Guess
from tests.bench.scoring.kinds.test_ranking import embed, score, truth


def test_naming_all_of_a_corpus_of_four_is_no_better_than_its_random_level() -> None:
    """Four candidates, each of which is private, mixed by four: whoever names all four has found everything."""
    world = truth([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]] * 4, drop=(4, 5))
    everything = np.tile(np.arange(4), (16, 1))
    found = score(
        Guess(ranking=everything),
        world,
        Similarity(world.corpus.texts, embed),
        np.random.default_rng(0),
    ).metrics["recall"]
    assert (found["value"], found["random"]) == (1, 1)
    assert found["low"] <= found["random_high"]


def test_distinct_answers_repeat_no_text_and_first_ones_come_round() -> None:
    texts = np.array([3, 1, 1, 7, 9])
    answers = blind.distinct(texts, 8, 3, np.random.default_rng(0))
    assert answers.shape == (8, 3)
    assert all(len(set(row)) == 3 for row in answers)
    assert set(answers[:4, 0]) == {1, 3, 7, 9}
    assert blind.distinct(texts, 2, 9, np.random.default_rng(0)).shape == (2, 4)
    steady = blind.steady(texts, 8, 3, np.random.default_rng(0))
    assert (steady == steady[0]).all()
    assert len(set(steady[0])) == 3


def test_the_better_strategy_is_taken_metric_by_metric_and_the_range_of_the_luckier() -> None:
    one = {"recall": {"random": 0.2, "random_low": 0.1, "random_high": 0.9}, "error": dict.fromkeys(KEYS, 1.0)}
    two = {"recall": {"random": 0.4, "random_low": 0.3, "random_high": 0.5}, "error": dict.fromkeys(KEYS, 0.5)}
    found = blind.better(one, two, lower=["error"])
    assert found["recall"] == {"random": 0.4, "random_low": 0.3, "random_high": 0.9}
    assert found["error"]["random"] == 0.5


KEYS = ("random", "random_low", "random_high")


def test_the_best_constant_answer_is_the_column_with_the_largest_mean() -> None:
    values = np.array([[1.0, 0.0], [1.0, 0.5]])
    assert blind.constant(values)["random"] == 1.0


@pytest.mark.parametrize("rows", [blind.SMALL - 1, blind.SMALL])
def test_corpora_that_are_not_small_keep_the_level_they_had(rows: int) -> None:
    """Published records have at least 1,000 sentences: their levels, and the draws behind them, stay as they were."""
    from bench.scoring.kinds import ranking
    from bench.scoring.metrics.corpus import Answers
    from bench.scoring.table import METRICS

    world = truth([[0, 1], [1, 2], [2, 3], [3, 0]] * 5)
    private, corpus = world.text_numbers()
    corpus = np.concatenate([corpus, np.arange(100, 100 + rows - len(corpus))])
    answers = Answers(np.zeros((20, 2), dtype=int), private, corpus, world.key)
    world.corpus.texts.extend(f"other {i}" for i in range(rows - len(world.corpus.texts)))
    level = vars(ranking)["_random_answers"]
    found = level(world, answers, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    means = []
    (recall,) = (row for row in METRICS.of("ranking") if row.name == "recall")
    for _ in range(ranking.GUESSERS):
        named = corpus[rng.integers(0, rows, (20, 2))]
        means.append(np.nanmean(recall.function(Answers(named, private, corpus, world.key))))
    if rows >= blind.SMALL:
        assert found["recall"]["random"] == float(np.mean(means))
    else:
        assert found["recall"]["random"] >= float(np.mean(means))
