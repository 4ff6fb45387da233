"""What an attack sends is taken apart without trust."""

from __future__ import annotations

import numpy as np
import pytest

from bench import Guess
from bench.isolation import guess as guesses


def nested(depth: int) -> list[object]:
    return [] if not depth else [nested(depth - 1)]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"details": {"deep": nested(100)}}, "are not a table"),
        ({"details": [1]}, "are not a table"),
        ({"details": {"long": "x" * (9 << 20)}}, "are not a table"),
        ({"texts": "abc"}, "not a list of strings"),
        ({"texts": [1]}, "not a list of strings"),
    ],
)
def test_facts_that_no_guess_has(facts: dict[str, object], said: str) -> None:
    guess, wrong = guesses.read(facts, {})
    assert guess is None
    assert said in wrong


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
    assert said in str(guesses.check(guess, items=5, rows=100, dim=4))


def test_a_guess_of_pictures_holds_as_many_as_are_mixed() -> None:
    """Or every picture there is could be named, and one would be right."""
    many = Guess(images=np.zeros((5, 3, 1, 8, 8)))
    assert guesses.check(many, 5, 100, 4, (1, 8, 8), width=3) is None
    assert "at most 2 dummies" in str(guesses.check(many, 5, 100, 4, (1, 8, 8), width=2))
