"""Sentences whose gradient is nearly as small as what float32 rounds away from that of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import Readings
from bench.attacks import span
from bench.attacks.span import SpanAttack, faint
from bench.attacks.span.subspace import members, span_of
from tests.helpers.rounds import round_cell, scene_and_view

COUNT = 32
NOBODY = np.empty(0, dtype=np.int64)


def _batch(smallest: float) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of a batch that the model has mostly learnt, each sentence's by the same factor smaller than the one
    before; and the inputs of 500 candidates, the first of whom it is of, as an attacker computes them."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(500, 192)) + 2.0 * rng.normal(size=192)
    outputs = np.geomspace(1, smallest, COUNT)[:, None] * rng.normal(size=(COUNT, 96))
    made = outputs.T @ inputs[:COUNT]
    rounded = (made * (1 + 6e-8 * rng.standard_normal(made.shape))).astype(np.float32)
    return rounded.astype(np.float64), (inputs * (1 + 1e-7 * rng.normal(size=inputs.shape))).astype(np.float32)


def test_who_is_above_rounding_is_found_though_no_gap_tells() -> None:
    gradient, inputs = _batch(3e-8)
    near = span_of(gradient)
    assert not members(near.distance(inputs), COUNT, near.floor).any()
    found = faint.explaining(gradient, inputs, NOBODY, COUNT)
    assert found.tolist() == list(range(len(found)))
    assert len(found) >= COUNT - 1
    # Those who are known already are not named again.
    assert faint.explaining(gradient, inputs, np.arange(20), COUNT).tolist() == found[20:].tolist()


def test_who_is_below_rounding_is_not() -> None:
    gradient, inputs = _batch(1e-12)
    found = faint.explaining(gradient, inputs, NOBODY, COUNT)
    assert found.tolist() == list(range(len(found)))
    assert 5 < len(found) < COUNT - 5


def test_nobody_stands_in_for_who_is_no_candidate() -> None:
    gradient, inputs = _batch(1e-6)
    assert len(faint.explaining(gradient, inputs, NOBODY, COUNT)) == COUNT
    assert not len(faint.explaining(gradient, inputs[1:], NOBODY, COUNT))
    assert not len(faint.explaining(gradient, inputs[COUNT:], NOBODY, COUNT))


def test_a_batch_without_room_names_nobody() -> None:
    gradient, inputs = _batch(1e-6)
    assert not len(faint.explaining(gradient, inputs, NOBODY, 96))


def test_an_update_whose_gap_is_missed_is_read_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, seen = scene_and_view(round_cell(tmp_path, "span", "texthide:k=2"), tmp_path / "view")
    monkeypatch.setattr(span, "members", lambda distances, most, floor: np.zeros(len(distances), dtype=bool))
    guess = SpanAttack().run(seen, np.random.default_rng(0))
    assert isinstance(guess, Readings)
    # Whether dropout was on cannot be told of each batch of a model this small; here of the first one.
    assert guess.details["clean"][0]
    assert guess.details["faint"][0] == 4
    named = [list(one) for one in guess.readings[0].sentences]
    assert sorted(named) == sorted(found.truth.batches.tokens[:4])  # type: ignore[attr-defined]
    assert not guess.readings[0].certified
