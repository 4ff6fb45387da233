"""Sentences from a bag of words and n-grams of public text."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from bench import Readings, UsageError
from bench.attacks.film import BACK, Film, Triples
from tests.helpers.rounds import round_cell, scene_and_view

RNG = np.random.default_rng
PUBLIC = [[2, 10, 11, 12, 3], [2, 10, 11, 13, 3], [2, 10, 11, 12, 3], [2, 14, 99, 3]]
WORDS = np.array([2, 3, 10, 11, 12, 13, 14])


def test_likelihoods_are_counts_that_back_off() -> None:
    model = Triples(WORDS, PUBLIC, 2)
    after = np.exp(model.after(np.array([2, -1]), np.array([3, 0])))  # after "10 11", and at the beginning
    assert after[0, 4] == pytest.approx(2 / 3)
    assert after[0, 5] == pytest.approx(1 / 3)
    assert after[0, 6] == pytest.approx(BACK**2 * 1.1 / (model.single.sum()))  # never seen there
    assert after[1, 2] == pytest.approx(BACK * 3 / 4.1)
    # 14 and 3 stand next to each other only across a word that the batch has not, and 3 and 2 across sentences.
    assert model.pairs[6, 1] == model.pairs[1, 0] == 0


def test_the_likeliest_sentence_is_written_first_then_what_is_new() -> None:
    model = Triples(WORDS, PUBLIC, 2)
    first, second = Film().written(model, end=1, longest=5, count=2)
    assert WORDS[first].tolist() in PUBLIC
    assert first != second
    assert set(second) - set(first)  # it has a word that the first has not
    assert math.isfinite(float(model.after(np.array([-1]), np.array([0])).sum()))


def test_an_update_is_written_in_its_own_words(tmp_path: Path) -> None:
    cell = round_cell(tmp_path, "film", "texthide:m=4,k=2", batch=2, examples=4, public="demo")
    _, seen = scene_and_view(cell, tmp_path / "view")
    guess = Film(beams=8).run(seen, RNG(0))
    assert isinstance(guess, Readings)
    for reading in guess.readings:
        assert reading.sentences
        assert all(set(one) <= set(reading.tokens or []) for one in reading.sentences)
        assert not reading.certified


def test_rows_of_words_are_needed(tmp_path: Path) -> None:
    _, seen = scene_and_view(round_cell(tmp_path, "film", "frozen-embeddings", public="demo"), tmp_path / "view")
    with pytest.raises(UsageError, match=r"film reads embeddings\.word"):
        Film().run(seen, RNG(0))


@pytest.mark.parametrize("options", [{"beams": 0}, {"fresh": -1.0}, {"fresh": math.nan}])
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Film(**options)  # type: ignore[arg-type]
