"""What an attack sends is taken apart without trust."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench import Guess
from bench.isolation import guess as guesses
from bench.scoring.kinds import Expected


def test_its_own_account_may_be_anything() -> None:
    assert guesses.used({"used": 1}) == ()
    assert guesses.used({"used": ["corpus", 3]}) == ("corpus", "3")
    assert guesses.attempts({"attempts": ["x"]}) == {}
    assert guesses.attempts({"attempts": {"a\x1b[2Jb": 2, "c": "many"}}) == {"a [2Jb": 2}


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (Guess(ranking=np.zeros((5, 200), dtype=np.int8)), "of a corpus of 100"),
        (Guess(vectors=np.zeros((5000, 4))), "5000 vectors were guessed for 5"),
    ],
)
def test_more_than_anybody_could_mean(guess: Guess, said: str) -> None:
    assert said in str(guesses.check(guess, Expected("text", items=5, width=1, rows=100, dim=4)))


def test_a_ranking_and_its_texts_are_bounded_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranking of small numbers is widened when it is scored."""
    expected = Expected("text", items=5, width=1, rows=100, dim=4)
    monkeypatch.setattr(guesses, "ANSWERS", 100)
    assert guesses.check(Guess(ranking=np.zeros((5, 20), dtype=np.int8)), expected) is None
    assert "at most 100 are taken" in str(guesses.check(Guess(ranking=np.zeros((5, 21), dtype=np.int8)), expected))
    monkeypatch.setattr(guesses, "PAIRS", 20)
    assert guesses.check(Guess(vectors=np.zeros((4, 4))), expected) is None
    assert "at most 4 are taken" in str(guesses.check(Guess(vectors=np.zeros((5, 4))), expected))
    assert "at most 20,000 are taken" in str(guesses.check(Guess(texts=["a", *["b"] * 3, "c" * 20_001]), expected))


def trail(**changed: tuple[int, ...]) -> dict[str, np.ndarray]:
    shapes = {"steps": (4,), "distance": (3, 4), "images": (3, 4, 2, 1, 8, 8), "masks": (3, 4, 6)} | changed
    return {name: np.zeros(shape) for name, shape in shapes.items() if shape is not None}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (trail(), None),
        (trail(masks=None), None),
        (trail(images=(3, 4, 2, 64, 1, 1)), "the trail's images have shape"),
        (trail(images=(1000, 1)), "the trail's images have shape"),
        (trail(images=(3, 4, 3, 1, 8, 8)), "the trail's images have shape"),
        (trail(distance=(9, 4), images=(9, 4, 2, 1, 8, 8)), "the trail's distance has shape"),
        (trail(steps=(5,)), "the trail's distance has shape"),
        (trail(masks=(3, 4, 1)), "the trail's masks have shape"),
        (trail(images=None), "the trail lacks images"),
        (trail(**{"\x1b[2J": (1,)}), "the trail holds ' [2J'"),
    ],
)
def test_a_trail_that_would_be_stretched_to_fit_is_refused(given: dict[str, np.ndarray], said: str | None) -> None:
    expected = Expected("images", items=5, width=2, rows=100, dim=6, shape=(1, 8, 8))
    wrong = guesses.check(Guess(images=np.zeros((5, 2, 1, 8, 8)), trail=given), expected)
    assert wrong is None if said is None else said in str(wrong)


def test_a_guess_of_pictures_holds_as_many_as_are_mixed() -> None:
    """Or every picture there is could be named, and one would be right."""
    many = Guess(images=np.zeros((5, 3, 1, 8, 8)))
    expected = Expected("images", items=5, width=3, rows=100, dim=4, shape=(1, 8, 8))
    assert guesses.check(many, expected) is None
    assert "at most 2 dummies" in str(guesses.check(many, replace(expected, width=2)))


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (Guess(), "this one holds none"),
        (Guess(ranking=np.zeros((5, 1), int), texts=["a"] * 5), "this one holds ['ranking', 'texts']"),
        (Guess(images=np.zeros((5, 1, 1, 8, 8))), "a guess of images does not fit: the private examples are text"),
        (Guess(ranking=np.zeros((5, 1))), "float64 values; expected whole row numbers"),
        (Guess(ranking=np.full((5, 1), 100)), "names row 100"),
        (Guess(texts=["a"]), "1 texts were guessed for 5"),
        (Guess(vectors=np.full((5, 4), np.nan)), "NaN or infinite"),
        (Guess(texts=["a"] * 5, confidence=np.zeros(4)), "confidence has shape (4,)"),
    ],
)
def test_a_guess_that_does_not_fit_is_told_why(guess: Guess, said: str) -> None:
    assert said in str(guesses.check(guess, Expected("text", items=5, width=1, rows=100, dim=4)))
