"""Noise on an update: its size is read off, and sentences are named as long as they explain more than chance would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.attacks.span import SpanAttack, noise
from tests.helpers.rounds import round_cell, scene_and_view

RNG = np.random.default_rng(0)
# Inputs of a layer have much in common, as after a GELU.
INPUTS = (np.abs(RNG.standard_normal((500, 256))) + 0.5).astype(np.float32)
MEMBERS = np.array([3, 77, 200, 310, 499])


def _gradient(sigma: float) -> np.ndarray:
    directions = RNG.standard_normal((len(MEMBERS), 64))
    return directions.T @ INPUTS[MEMBERS] + sigma * RNG.standard_normal((64, 256))


@pytest.mark.parametrize("sigma", [0.01, 1.0, 30.0])
def test_its_size_is_read_off_the_small_singular_values(sigma: float) -> None:
    assert noise.level(_gradient(sigma)) == pytest.approx(sigma, rel=0.1)


def test_there_is_none() -> None:
    assert noise.level(_gradient(0.0)) == 0.0
    assert noise.level(_gradient(0.0).astype(np.float32).astype(float)) == 0.0


@pytest.mark.parametrize("sigma", [0.1, 1.0, 3.0])
def test_the_right_sentences_explain_most(sigma: float) -> None:
    gradient = _gradient(sigma)
    assert noise.explaining(gradient, INPUTS, noise.level(gradient), 5).tolist() == MEMBERS.tolist()
    # A corpus that has only three of them: the other two are not made up.
    some = np.delete(INPUTS, MEMBERS[:2], axis=0)
    found = noise.explaining(gradient, some, noise.level(gradient), 5)
    assert set(MEMBERS[2:] - 2) <= set(found.tolist())


def test_nobody_is_named_out_of_noise_alone() -> None:
    named = [noise.explaining(RNG.standard_normal((64, 256)), INPUTS, 1.0, 5) for _ in range(20)]
    assert sum(map(len, named)) <= 3


def test_a_noisy_update_names_its_sentences(tmp_path: Path) -> None:
    cell = round_cell(tmp_path, "span", "texthide:m=4,k=2+dp-sgd:noise=0.0002")
    scene, view = scene_and_view(cell, tmp_path / "view")
    guess = SpanAttack().run(view, np.random.default_rng(0))
    assert all(sigma > 0 for sigma in guess.details["noise"])
    truth = {tuple(view.updates.tokenizer([text])[0][0]) for text in scene.truth.private.texts}
    found = {tuple(sentence) for reading in guess.readings for sentence in reading.sentences}
    assert len(found & truth) >= 6
    assert len(found - truth) <= 1


def test_a_pruned_update_names_its_sentences(tmp_path: Path) -> None:
    scene, view = scene_and_view(round_cell(tmp_path, "span", "prune:share=0.5"), tmp_path / "view")
    guess = SpanAttack().run(view, np.random.default_rng(0))
    truth = {tuple(view.updates.tokenizer([text])[0][0]) for text in scene.truth.private.texts}
    found = {tuple(sentence) for reading in guess.readings for sentence in reading.sentences}
    assert len(found & truth) >= 6
    assert len(found - truth) <= 2
