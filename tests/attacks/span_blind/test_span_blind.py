"""Sentences read out of an update without any corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bench import Readings, UsageError
from bench.attacks.span_blind import SpanBlind
from bench.attacks.span_blind.places import _by_rows, standing
from bench.attacks.span_blind.residuals import Residuals
from bench.attacks.span_blind.search import _orders
from bench.experiment.cells import cells
from bench.experiment.setup import CellSetup
from bench.isolation.view import View
from bench.plugins.registry import Registry
from tests.helpers.rounds import round_cell, scene_and_view

RNG = np.random.default_rng


def scene(folder: Path, defense: str = "none", **sizes: object) -> tuple[CellSetup, View]:
    return scene_and_view(
        round_cell(folder, "span-blind", defense, **{"batch": 2, "examples": 4, **sizes}), folder / "view"
    )


def tokens_of(found: CellSetup) -> list[list[int]]:
    tokens: list[list[int]] = found.truth.batches.tokens  # type: ignore[attr-defined]
    return tokens


def check(found: CellSetup, seen: View, batch: int) -> int:
    """How many sentences are right; all that are named must be."""
    guess = SpanBlind().run(seen, RNG(0))
    assert isinstance(guess, Readings)
    right = 0
    for number, reading in enumerate(guess.readings):
        mine = tokens_of(found)[batch * number : batch * (number + 1)]
        assert all(list(one) in mine for one in reading.sentences)
        assert reading.certified == (len(reading.sentences) == batch)
        right += len(reading.sentences)
    return right


@pytest.mark.parametrize("defense", ["none", "texthide:m=4,k=2", "texthide:m=4,k=2+frozen-embeddings"])
def test_every_sentence_of_a_small_batch(tmp_path: Path, defense: str) -> None:
    assert check(*scene(tmp_path, defense), batch=2) == 4


@pytest.mark.parametrize("family", ["roberta", "mpnet"])
def test_other_families(tmp_path: Path, family: str) -> None:
    assert check(*scene(tmp_path, family=family), batch=2) >= 3


def test_nothing_is_named_where_tokens_fill_the_layer(tmp_path: Path) -> None:
    found, seen = scene(tmp_path, batch=16, examples=16)
    assert check(found, seen, batch=16) == 0


def test_nothing_is_named_under_noise(tmp_path: Path) -> None:
    found, seen = scene(tmp_path, "dp-sgd:noise=0.1")
    assert check(found, seen, batch=2) == 0


class Rows:
    """An update of two sentences whose tokens have these gradients, as far as its embeddings show."""

    def __init__(self, sentences: list[list[int]], gradients: np.ndarray):
        self.tables: dict[str, dict[int, np.ndarray]] = {"embeddings.word": {}, "embeddings.position": {}}
        for gradient, (place, word) in zip(
            gradients, (pair for one in sentences for pair in enumerate(one)), strict=True
        ):
            for table, row in (("embeddings.word", word), ("embeddings.position", place + 2)):
                self.tables[table][row] = self.tables[table].get(row, 0) + gradient

    def rows(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        table = self.tables[name]
        return np.array(sorted(table)), np.stack([table[row] for row in sorted(table)])


def test_rows_say_where_words_stand() -> None:
    sentences = [[0, 10, 11, 12, 13, 1], [0, 14, 12, 15, 16, 12, 17, 1]]
    said = _by_rows(Rows(sentences, RNG(0).standard_normal((14, 200))), 2, 8)  # type: ignore[arg-type]
    assert said.words.tolist() == [0, 1, 10, 11, 12, 13, 14, 15, 16, 17]
    place = {word: at for one in sentences for at, word in enumerate(one)}
    for row, word in enumerate(said.words.tolist()):
        if word in (1, 12):  # at several places: may stand anywhere
            assert not said.lone[row]
            assert said.may[row].all()
        else:
            assert said.lone[row]
            assert np.flatnonzero(said.may[row]).tolist() == [place[word]]


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_right_sentences_leave_nothing_outside_the_span(tmp_path: Path, family: str) -> None:
    found, seen = scene(tmp_path, family=family)
    said = standing(seen.updates, 0)
    residuals = Residuals(seen.updates, 0, said.words, said.places, RNG(0))
    right = [np.searchsorted(said.words, one) for one in tokens_of(found)[:2]]
    assert residuals.rank == sum(map(len, right))
    for one in right:
        changed = one.copy()
        changed[1] = np.setdiff1d(one, one[[0, 1, -1]])[0]
        values = residuals.of(torch.as_tensor(np.stack([one, changed])))
        assert values[0] < 1e-3 * values[1]
        # A changed word is worth what the changed sentence is.
        words = torch.arange(len(said.words))
        replaced = residuals.replaced(torch.as_tensor(np.stack([one, changed])), 1, words)
        assert torch.allclose(replaced[0], replaced[1], atol=1e-5)
        assert float(replaced[0, changed[1]]) == pytest.approx(float(values[1]), rel=1e-4)


def test_orders_exchange_and_move_words() -> None:
    orders = [tuple(one) for one in _orders(5).tolist()]
    assert set(orders) == {(0, 2, 1, 3, 4), (0, 1, 3, 2, 4), (0, 2, 3, 1, 4), (0, 3, 1, 2, 4), (0, 3, 2, 1, 4)}
    assert _orders(3).shape == (0, 3)  # one word has one order


def test_the_first_layer_is_needed(tmp_path: Path) -> None:
    _, seen = scene(tmp_path, update="share=top:1")
    with pytest.raises(UsageError, match=r"span-blind reads layer.0.qkv.weight, and the client does not send that"):
        SpanBlind().run(seen, RNG(0))


@pytest.mark.slow
def test_a_batch_of_eight_real_sentences(tmp_path: Path) -> None:
    axes = {"defense": ["texthide"], "attack": ["span-blind"], "dataset": ["demo"], "encoder": ["minilm"], "seed": [31]}
    (cell,) = cells(Registry(), axes, {"batch": 8, "examples": 8})
    assert check(*scene_and_view(cell, tmp_path / "view"), batch=8) == 8
