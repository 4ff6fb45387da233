"""Reconstructed vectors: how they are matched, what those too many or too few count, which guesses are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench import Corpus, Examples, Guess, Key
from bench.scoring.kinds import Expected, get
from bench.scoring.kinds.vectors import SURPLUS, score
from bench.scoring.similarity import Similarity
from bench.scoring.truth import Truth

TEXTS = ["the cat sat", "a dog ran", "birds sing", "fish swim", "rain falls"]


def embed(texts: Any) -> np.ndarray:
    return np.eye(26, dtype=np.float32)[[ord(text[0]) % 26 for text in texts]]


def truth(n: int = 3) -> Truth:
    vectors = 2 * np.eye(5, dtype=np.float32)
    key = Key(np.arange(n), np.arange(n)[:, None], np.ones((n, 1), np.float32))
    private = Examples(TEXTS[:n], [0] * n, ("a", "b"))
    return Truth(private, vectors[:n], key, Corpus(TEXTS, vectors), np.array([0, 0, 0, 1, 1]))


def scored(vectors: np.ndarray, **kwargs: bool) -> Any:
    world = truth()
    return score(Guess(vectors=vectors), world, Similarity(TEXTS, embed), np.random.default_rng(0), **kwargs)


def values(vectors: np.ndarray) -> dict[str, float]:
    return {name: metric["value"] for name, metric in scored(vectors).metrics.items()}


def test_order_does_not_matter_and_neither_does_length_for_the_cosine() -> None:
    found = values(truth().vectors[[2, 0, 1]])
    assert found["success"] == found["identity"] == found["jaccard"] == 1
    assert (found["cosine"], found["error"]) == pytest.approx((1, 0), abs=1e-6)
    doubled = values(truth().vectors[[2, 0, 1]] * 3)
    assert doubled["cosine"] == pytest.approx(1)
    assert doubled["error"] == pytest.approx(2)  # ‖3x − x‖ / ‖x‖


def test_the_matching_is_the_best_for_all_together() -> None:
    # Both are nearest to the first example; one of them has to stand for the second.
    guess = np.array([[1, 0.5, 0, 0, 0], [1, 0.1, 0, 0, 0], [0, 0, 1, 0, 0]], dtype=np.float32)
    items = scored(guess).items
    assert items["cosine"] == pytest.approx([1 / np.sqrt(1.01), 0.5 / np.sqrt(1.25), 1], rel=1e-5)
    assert items["answer"] == ["the cat sat", "the cat sat", "birds sing"]
    assert items["success"].tolist() == [1, 0, 1]


def test_an_example_without_a_reconstruction_gave_nothing_away() -> None:
    # The first one has none, whose text is also the first of the corpus.
    result = scored(truth().vectors[1:2])
    assert result.facts == {"reconstructed": 1}
    assert result.items["answer"] == ["", "a dog ran", ""]
    for name in ("success", "identity", "jaccard", "tfidf", "sbert", "label", "cosine"):
        assert result.items[name] == pytest.approx([0, 1, 0]), name
    assert result.items["error"] == pytest.approx([1, 0, 1])


def test_more_reconstructions_than_examples_count_as_wrong() -> None:
    found = values(truth().corpus.vectors)
    assert found["success"] == pytest.approx(3 / 5)
    assert found["cosine"] == pytest.approx(3 / 5)
    assert found["error"] == pytest.approx(2 / 5)
    assert len(scored(truth().corpus.vectors).items["success"]) == 3  # the table is of examples


def test_a_blind_attacker_names_as_many_corpus_vectors() -> None:
    metrics = scored(truth().vectors).metrics
    for metric in metrics.values():
        assert metric["random_low"] <= metric["random"] <= metric["random_high"]
    assert 0 < metrics["success"]["random"] < 1
    assert metrics["success"]["random_low"] >= 1 / 3  # three of five are drawn: one at least is private


def test_the_random_level_does_not_depend_on_the_guess() -> None:
    right, wrong = scored(truth().vectors).metrics, scored(np.ones((3, 5))).metrics
    assert right["success"]["random"] == wrong["success"]["random"]
    assert right["success"]["value"] > wrong["success"]["value"]


def test_success_is_the_leak() -> None:
    result = scored(truth().vectors)
    assert result.leak == "success"
    assert result.owner.tolist() == [0, 1, 2]


def test_an_attack_without_a_corpus_is_not_asked_for_sentences() -> None:
    result = scored(truth().vectors, named=False)
    assert list(result.metrics) == ["cosine", "error"]
    assert result.items["answer"] == ["", "", ""]


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.ones((4, 6)), "the vectors have shape (4, 6); expected r × 5"),
        (np.ones(5), "the vectors have shape (5,); expected r × 5"),
        (np.ones((0, 5)), "the vectors have shape (0, 5); expected r × 5"),
        (np.ones((SURPLUS * 3 + 1, 5)), f"{SURPLUS * 3 + 1} vectors were guessed for 3 released items"),
        (np.full((1, 5), np.inf), "the vectors hold NaN or infinite values"),
        (np.full((1, 5), np.nan), "the vectors hold NaN or infinite values"),
        (np.ones((SURPLUS * 3, 5)), None),
    ],
)
def test_what_is_no_guess_is_told_its_author(vectors: np.ndarray, said: str | None) -> None:
    assert get("vectors").check(Guess(vectors=vectors), Expected.of(truth())) == said


def test_agreement_looks_past_order_and_length() -> None:
    kind, order = get("vectors"), np.arange(3)
    first = Guess(vectors=np.eye(3))
    assert kind.agreement(first, Guess(vectors=5 * np.eye(3)[[2, 0, 1]]), order, 1) == 1
    assert kind.agreement(first, Guess(vectors=np.eye(3)[:2]), order, 1) == pytest.approx(2 / 3)
    assert kind.agreement(first, Guess(vectors=-np.ones((3, 3))), order, 1) < 0
    assert kind.describe(first) == "vectors 3 × 3 float64"


def test_vectors_travel_unchanged() -> None:
    kind, guess = get("vectors"), Guess(vectors=np.arange(6, dtype=np.float32).reshape(2, 3))
    facts, arrays = kind.pack(guess)
    assert facts == {}
    assert np.array_equal(kind.unpack(facts, arrays), guess.vectors)
    assert kind.unpack({}, {}) is None
