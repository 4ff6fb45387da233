"""Scores on small worlds where every number can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bench import Corpus, Examples, Guess, Key
from bench.scoring.kinds import Scores, kind_of
from bench.scoring.metrics.corpus import jaccard, tfidf
from bench.scoring.similarity import Similarity
from bench.scoring.truth import Truth

TEXTS = ["the cat sat", "a dog ran", "the cat ran", "birds sing", "the cat sat", "fish swim fast"]
LABELS = np.array([0, 1, 0, 1, 0, 1])


def embed(texts: list[str]) -> np.ndarray:
    """A stand-in for SBERT: one direction per first letter."""
    return np.eye(26, dtype=np.float32)[[ord(t[0]) % 26 if t else 0 for t in texts]]


def truth(members: list[list[int]], private: tuple[int, ...] = (0, 1, 2, 3), drop: tuple[int, ...] = ()) -> Truth:
    keep = [i for i in range(len(TEXTS)) if i not in drop]
    table = np.array(members)
    vectors = np.eye(8, dtype=np.float32)
    vectors[4] = vectors[0]  # the second copy of a sentence has the same vector
    key = Key(table[:, 0], table, np.full(table.shape, 1 / table.shape[1], dtype=np.float32))
    return Truth(
        Examples([TEXTS[i] for i in private], LABELS[list(private)], ("no", "yes")),
        vectors[list(private)],
        key,
        Corpus([TEXTS[i] for i in keep], vectors[keep]),
        LABELS[keep],
    )


def score(guess: Guess, world: Truth, similarity: Similarity, rng: np.random.Generator, **kwargs: bool) -> Scores:
    return kind_of(guess).score(guess, world, similarity, rng, **kwargs)


def values(guess: Guess, world: Truth, **kwargs: bool) -> dict[str, float]:
    scores = score(guess, world, Similarity(world.corpus.texts, embed), np.random.default_rng(0), **kwargs)
    return {name: metric["value"] for name, metric in scores.metrics.items()}


def test_a_perfect_ranking_of_unmixed_items() -> None:
    found = values(Guess(ranking=np.array([[0], [1], [2], [3]])), truth([[0], [1], [2], [3]]))
    assert all(found[name] == pytest.approx(1) for name in found), found
    assert list(found) == ["identity", "jaccard", "tfidf", "label", "sbert", "hit", "recall", "success"]


def test_a_copy_of_the_sentence_counts_as_the_sentence() -> None:
    found = values(Guess(ranking=np.array([[4], [1], [2], [3]])), truth([[0], [1], [2], [3]]))
    assert found["identity"] == 1
    assert found["recall"] == 1
    assert found["success"] == 1


def test_the_five_metrics_of_a_wrong_answer() -> None:
    # "the cat sat" is answered with "the cat ran": two of four words in common, same label, same first letter.
    found = values(Guess(ranking=np.array([[2], [1], [2], [3]])), truth([[0], [1], [2], [3]]))
    assert found["identity"] == 0.75
    assert found["jaccard"] == pytest.approx((0.5 + 3) / 4)
    assert found["label"] == 1
    assert found["sbert"] == 1
    assert 0.75 < found["tfidf"] < 1


def test_recall_counts_all_that_was_mixed_and_identity_cannot() -> None:
    world = truth([[0, 1], [1, 0], [2, 3], [3, 2]])
    found = values(Guess(ranking=np.array([[0, 1], [0, 1], [3, 5], [5, 5]])), world)
    assert found["identity"] == 0.25
    assert found["recall"] == pytest.approx((1 + 1 + 0.5 + 0) / 4)
    assert found["hit"] == 0.75  # the first answer is one of the two in all but the last


def test_recall_looks_at_k_answers_and_no_more() -> None:
    found = values(Guess(ranking=np.array([[5, 5, 0, 1]] * 4)), truth([[0, 1], [1, 0], [2, 3], [3, 2]]))
    assert found["recall"] == 0


def test_an_example_mixed_with_itself_counts_once() -> None:
    found = values(Guess(ranking=np.array([[0, 5], [1, 5], [2, 5], [3, 5]])), truth([[0, 0], [1, 1], [2, 2], [3, 3]]))
    assert found["recall"] == 1


def test_public_slots_are_nobodys_secret() -> None:
    found = values(
        Guess(ranking=np.array([[0, 5], [1, 5], [2, 5], [3, 5]])), truth([[0, -1], [1, -1], [2, -1], [3, -1]])
    )
    assert found["recall"] == 1


def test_recall_is_over_what_the_corpus_covers() -> None:
    world = truth([[0, 1], [1, 0], [2, 3], [3, 2]], drop=(3,))  # corpus rows: 0, 1, 2, 4, 5
    found = values(Guess(ranking=np.array([[0, 1], [1, 0], [2, 0], [2, 0]])), world)
    assert found["recall"] == 1
    assert found["success"] == 0.75  # the uncovered one is not recovered


def test_success_wants_most_of_the_items_that_name_an_example_to_hold_it() -> None:
    world = truth([[0], [1], [2], [3]] * 3)
    # Row 0 is named by three items that hold it and by three that do not: not a majority.
    ranking = np.array([[0], [1], [0], [3]] * 3)
    assert values(Guess(ranking=ranking), world)["success"] == 0.5
    ranking[2] = 2
    assert values(Guess(ranking=ranking), world)["success"] == 1


def test_vectors_are_matched_one_to_one() -> None:
    world = truth([[0, 1], [1, 0], [2, 3], [3, 2]])
    guess = world.vectors[[3, 1, 0]] * 2.0  # shuffled, scaled, one missing
    found = values(Guess(vectors=guess), world)
    assert found["success"] == 0.75
    assert found["cosine"] == pytest.approx(0.75)
    assert found["error"] == pytest.approx(1.0)
    assert "recall" not in found
    both = values(Guess(vectors=np.repeat(world.vectors[:1], 4, axis=0)), world)
    assert both["success"] == 0.25  # one reconstruction cannot stand for four examples


def test_naming_the_whole_corpus_is_not_finding_everything() -> None:
    world = truth([[0, 1], [1, 0], [2, 3], [3, 2]])
    scores = score(
        Guess(vectors=world.corpus.vectors), world, Similarity(world.corpus.texts, embed), np.random.default_rng(0)
    )
    assert scores.metrics["success"]["value"] == pytest.approx(4 / 6)
    assert scores.metrics["success"]["random"] == pytest.approx(4 / 6)  # and a blind attacker does as well


def test_without_a_corpus_only_vectors_are_compared() -> None:
    world = truth([[0, 1], [1, 0], [2, 3], [3, 2]])
    assert values(Guess(vectors=world.vectors), world, named=False) == {"cosine": 1, "error": 0}


def test_free_text_may_lie_outside_the_corpus() -> None:
    found = values(Guess(texts=["the cat sat", "a dog barked", "zzz", "birds sing"]), truth([[0], [1], [2], [3]]))
    assert found["identity"] == 0.5
    assert found["success"] == 0.5
    assert found["jaccard"] == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert found["label"] == 0.5


def test_the_random_recall_is_over_what_the_corpus_covers_too() -> None:
    world = truth([[0], [1], [2], [3]] * 25, drop=(1, 2, 3))
    guess = Guess(ranking=np.zeros((100, 1), dtype=int))
    metrics = score(guess, world, Similarity(world.corpus.texts, embed), np.random.default_rng(0)).metrics
    assert metrics["recall"]["value"] == 1
    assert metrics["recall"]["random"] == pytest.approx(2 / 3, abs=0.1)  # two of the three sentences left are the one


def test_random_levels_are_what_random_guessing_gives() -> None:
    world = truth([[0], [1], [2], [3]] * 25)
    rng = np.random.default_rng(1)
    scores = score(
        Guess(ranking=rng.integers(0, 6, (100, 1))),
        world,
        Similarity(world.corpus.texts, embed),
        np.random.default_rng(0),
    )
    identity = scores.metrics["identity"]
    assert identity["random"] == pytest.approx((2 + 1 + 1 + 1) / 24, abs=0.02)  # the first sentence stands there twice
    for name in ("identity", "jaccard", "tfidf", "label", "sbert", "recall"):
        metric = scores.metrics[name]
        assert metric["value"] <= metric["random_high"] + 0.05, name
        if name in ("identity", "recall"):  # of the text metrics, the level is that of the best constant answer
            assert metric["random_low"] - 0.05 <= metric["value"], name
        assert metric["low"] <= metric["value"] <= metric["high"]


def test_confidence_is_judged_by_whether_it_separates_right_from_wrong() -> None:
    world = truth([[0], [1], [2], [3]])
    guess = Guess(ranking=np.array([[0], [1], [5], [5]]), confidence=np.array([0.9, 0.8, 0.2, 0.85]))
    scores = score(guess, world, Similarity(world.corpus.texts, embed), np.random.default_rng(0))
    assert scores.facts["confidence_auc"] == 0.75


def test_regression_labels_agree_when_they_round_alike() -> None:
    world = truth([[0], [1], [2], [3]])
    scored = Truth(
        Examples(world.private.texts, [1.2, 3.6, 2.0, 4.4]), world.vectors, world.key, world.corpus,
        np.array([1.4, 4.1, 3.0, 4.0, 0.0, 0.0]),
    )  # fmt: skip
    assert values(Guess(ranking=np.array([[0], [1], [2], [3]])), scored)["label"] == 0.75


def test_texts_without_a_single_word_do_not_break_the_metrics() -> None:
    key = Key(np.arange(2), np.arange(2)[:, None], np.ones((2, 1), np.float32))
    private = Examples(["!!", "!!"], [0, 0], ("a",))
    world = Truth(private, np.eye(2, dtype=np.float32), key, Corpus(["!!", "??"], np.eye(2)), np.zeros(2))
    pairs = Similarity(["!!", "??"], embed).pairs(world, np.arange(2), ["!!", "??"], np.arange(2))
    assert jaccard(pairs).tolist() == [1, 0]
    assert np.isfinite(tfidf(pairs)).all()
