"""How far two guesses agree, kind by kind."""

from __future__ import annotations

import numpy as np
import pytest

from bench import Guess
from bench.conformance.agreement import agreement, describe, identical

ORDER = np.array([2, 0, 1])
RANKING = np.array([[0, 1, 9], [2, 3, 9], [4, 5, 9]])
VECTORS = np.eye(3, dtype=np.float32)
IMAGES = np.random.default_rng(0).random((3, 1, 1, 2, 2)).astype(np.float32)


def test_rankings_agree_in_their_first_answers_whatever_their_order() -> None:
    first = Guess(ranking=RANKING)
    assert agreement(first, Guess(ranking=RANKING[ORDER][:, [1, 0, 2]]), ORDER, width=2) == 1
    assert agreement(first, Guess(ranking=RANKING), ORDER, width=2) == 0
    half = RANKING[ORDER].copy()
    half[:, 0] = 7
    assert agreement(first, Guess(ranking=half), ORDER, width=2) == 0.5


def test_a_guess_that_holds_nothing_or_two_kinds_is_described_and_agrees_with_nothing() -> None:
    for guess in (Guess(), Guess(ranking=RANKING, texts=["a"] * 3)):
        assert agreement(guess, guess, ORDER, width=2) == 0
        assert describe(guess).endswith("kinds of answer")


def test_vectors_are_matched_wherever_they_stand() -> None:
    assert agreement(Guess(vectors=VECTORS), Guess(vectors=VECTORS[ORDER]), ORDER, 1) == pytest.approx(1)
    assert agreement(Guess(vectors=VECTORS), Guess(vectors=VECTORS[:2]), ORDER, 1) == pytest.approx(2 / 3)


def test_texts_and_images() -> None:
    assert agreement(Guess(texts=["a", "b", "c"]), Guess(texts=["c", "a", "x"]), ORDER, 1) == pytest.approx(2 / 3)
    moved = IMAGES[ORDER].copy()
    moved[0] += 1
    assert agreement(Guess(images=IMAGES), Guess(images=moved), ORDER, 1) == pytest.approx(2 / 3)


def test_guesses_of_different_kinds_do_not_agree() -> None:
    assert agreement(Guess(ranking=RANKING), Guess(vectors=VECTORS), ORDER, 1) == 0


def test_identical_means_every_byte() -> None:
    first = Guess(ranking=RANKING, confidence=np.ones(3, np.float32))
    assert identical(first, Guess(ranking=RANKING.copy(), confidence=np.ones(3, np.float32)))
    assert not identical(first, Guess(ranking=RANKING))
    assert not identical(first, Guess(ranking=RANKING.astype(np.int32), confidence=np.ones(3, np.float32)))
    assert not identical(first, None)


def test_a_guess_is_described_by_kind_and_shape() -> None:
    assert describe(Guess(vectors=VECTORS)) == "vectors 3 × 3 float32"
    assert describe(Guess(texts=["a"])) == "1 texts"
