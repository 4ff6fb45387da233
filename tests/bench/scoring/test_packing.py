"""Guesses on their way to another process or into a file: nothing that is read is trusted."""

from __future__ import annotations

import numpy as np
import pytest

from bench import Guess
from bench.scoring import kinds, packing
from bench.types import KINDS

GUESSES = {
    "ranking": Guess(ranking=np.array([[3, 1], [0, 2]]), confidence=np.array([0.5, 1.0])),
    "vectors": Guess(vectors=np.eye(3, dtype=np.float32)),
    "texts": Guess(texts=["a", "\u00fc"], details={"rounds": 3}),
    "images": Guess(images=np.zeros((2, 1, 1, 4, 4)), trail={"steps": np.arange(3)}),
}


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
    guess, wrong = packing.read(facts, {})
    assert guess is None
    assert said in wrong


def test_every_kind_has_its_class() -> None:
    assert set(GUESSES) == set(KINDS)
    assert [kind.name for kind in kinds.every()] == [*KINDS, "readings", "written"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_packed_comes_out_again(kind: str) -> None:
    guess = GUESSES[kind]
    found, wrong = packing.read(*packing.pack(guess))
    assert not wrong
    assert found is not None
    assert found.given == (kind,)
    np.testing.assert_array_equal(getattr(found, kind), getattr(guess, kind))
    assert found.details == guess.details
    assert found.trail.keys() == guess.trail.keys()
    np.testing.assert_array_equal(found.confidence, guess.confidence)


def test_an_array_that_no_guess_has_is_refused() -> None:
    guess, wrong = packing.read({}, {"ranking": np.zeros((1, 1), int), "key": np.zeros(3)})
    assert guess is None
    assert "arrays that no guess has" in wrong


def test_details_that_are_no_json_fail_where_the_author_sees_it() -> None:
    with pytest.raises(TypeError):
        packing.pack(Guess(texts=["a"], details={"array": np.zeros(3)}))
