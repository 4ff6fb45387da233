from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench.attacks.carlini import descent, groups, pairs

SHAPE = (1, 8, 8)


def test_cliques_that_recur_are_the_pictures_and_noise_is_none() -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((5, 32))
    owner = np.repeat(np.arange(5), 20)
    features = centres[owner] + 0.2 * rng.standard_normal((100, 32))
    alone = 3 * rng.standard_normal((20, 32))
    features = np.concatenate([features, alone]).astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    found = groups.recurring(features, 120, 10, rng)
    assert len(found) >= 5
    assert {int(owner[rows[0]]) for rows in found[:5]} == set(range(5))
    assert all(len(set(owner[rows])) == 1 for rows in found[:5])


def test_assignment_keeps_to_labels_and_to_the_number_of_private_pictures() -> None:
    labels = np.array([[0.4, 0.2, 0], [0, 0.3, 0.3], [0.5, 0, 0]], np.float32)
    classes = np.array([0, 1, 2, 0])
    scores = np.array([[0.9, 0.1, 0.95, 0.2], [0.9, 0.5, 0.6, 0.9], [0.1, 0.9, 0.9, 0.8]], np.float32)
    held = groups.assign(scores, groups.allowed(labels, classes), 2)
    assert held.tolist() == [[True, False, False, True], [False, True, True, False], [True, False, False, True]]
    weights = groups.weights_of(held, labels, classes)
    np.testing.assert_allclose(weights[0], [0.2, 0, 0, 0.2])
    np.testing.assert_allclose(weights[1], [0, 0.3, 0.3, 0])


def test_no_class_allowed_is_no_assignment() -> None:
    assert not groups.assign(np.ones((4, 2), np.float32), np.zeros((4, 2), bool), 2).any()


def test_no_picture_is_in_more_than_its_share_of_the_encodings() -> None:
    scores = np.tile(np.array([0.9, 0.1, 0.1], np.float32), (30, 1))
    held = groups.assign(scores, np.ones((30, 3), bool), 1)
    assert held.sum(axis=0).tolist() == [10, 10, 10]


def test_descent_and_colour_bring_back_pictures_from_magnitudes() -> None:
    rng = np.random.default_rng(1)
    ramp = np.linspace(-1, 1, 8)
    ways = np.stack([np.ones((8, 8)), np.tile(ramp, (8, 1)), np.tile(ramp, (8, 1)).T, np.outer(ramp, ramp)])
    truth = (1.5 * rng.standard_normal((12, 4)) @ ways.reshape(4, 64)).astype(np.float32)
    weights = np.zeros((600, 12), np.float32)
    for row in weights:
        row[rng.choice(12, 2, replace=False)] = rng.dirichlet([2, 2])
    found = descent.fit(np.abs(weights @ truth), weights, SHAPE, steps=30)
    assert np.corrcoef(np.abs(found).ravel(), np.abs(truth).ravel())[0, 1] > 0.9
    public = truth + rng.standard_normal(truth.shape).astype(np.float32) / 10
    coloured = descent.coloured(found, public, SHAPE)
    assert np.corrcoef(coloured.ravel(), truth.ravel())[0, 1] > 0.99
    assert np.corrcoef(found.ravel(), truth.ravel())[0, 1] < 0.5


def test_pairs_that_share_a_picture_are_nearer() -> None:
    rng = np.random.default_rng(2)
    public = rng.standard_normal((80, 64)).astype(np.float32)

    def make(vectors: np.ndarray, epochs: int) -> tuple[np.ndarray, np.ndarray]:
        owner = np.tile(np.arange(len(vectors)), epochs)
        mixed = 0.7 * vectors[owner] + 0.3 * vectors[rng.permutation(owner)]
        return np.abs(mixed), owner[:, None] == owner

    net = pairs.train(make, public, SHAPE, rng, steps=20)
    magnitudes, same = make(rng.standard_normal((40, 64)).astype(np.float32), 4)
    features = net.embed(magnitudes)
    near = features @ features.T
    np.testing.assert_allclose(np.diag(near), 1, rtol=1e-4)
    np.fill_diagonal(same, False)
    assert near[same].mean() > near[~same].mean() + 0.2


@pytest.mark.slow
def test_it_runs_behind_the_wall(bench: Callable, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for i in range(40):
        pixels = np.random.default_rng(i).integers(0, 256, (10, 10), dtype=np.uint8)
        image.fromarray(pixels).save(tmp_path / f"{i}.png")
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--examples", "12", "--epochs", "10", "--json")
    common = (*common, "--public", f"pictures:{tmp_path},side=8")
    options = "carlini:pair_steps=4,steps=20,size=8"
    (record,) = json.loads(bench(*common, "--defense", "instahide-cross:k=3", "--attack", options).stdout)
    assert record["status"] == "ok", record["error"]
    assert record["details"]["pictures"] >= 1
    attack = f"{options},answer=items"
    (record,) = json.loads(bench(*common, "--defense", "instahide:k=2", "--attack", attack).stdout)
    assert set(record["details"]["challenge"]) == {"max_ssim", "mean_ssim", "min_l2", "mean_l2"}


@pytest.mark.parametrize("option", ["size=1", "steps=0", "cliques=0"])
def test_options_that_make_no_sense_are_refused(bench: Callable, option: str) -> None:
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--defense", "instahide")
    done = bench(*common, "--attack", f"carlini:{option}")
    assert done.returncode == 2
    assert "at least" in done.stderr
