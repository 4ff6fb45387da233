"""On pictures that are made here: smooth patches with edges, as photographs have them, and noise on top."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from bench import Corpus
from bench.attacks.unmix_pictures import blind, clusters, cross, differences, pursuit
from bench.attacks.unmix_pictures.single import name_members, private_pictures
from bench.plugins.registry import Registry

SIDE = 24
SHAPE = (3, SIDE, SIDE)
D = 3 * SIDE * SIDE


def photographs(n: int, seed: int = 0) -> np.ndarray:
    """n × d, of spread 1: brightness, a smooth ground, patches with edges, some colour."""
    rng = np.random.default_rng(seed)

    def smooth(reach: float, channels: int = 1) -> np.ndarray:
        noise = gaussian_filter(rng.standard_normal((n, channels, SIDE, SIDE)), (0, 0, reach, reach), mode="wrap")
        return noise / noise.std()

    images = 0.6 * rng.standard_normal((n, 1, 1, 1)) + 0.6 * smooth(6) + 0.6 * np.sign(smooth(3)) + 0.2 * smooth(1, 3)
    return (images / images.std()).reshape(n, -1).astype(np.float32)


def hidden(pictures: np.ndarray, k: int, epochs: int, seed: int = 1):
    defense = Registry().make("defense", f"instahide:k={k}")
    labels = np.zeros((len(pictures), 1), np.float32)
    release, key = defense.release(pictures, labels, None, np.random.default_rng(seed), epochs=epochs)
    return np.asarray(release.encodings), key


def test_differences_and_metric_are_what_they_say() -> None:
    values = np.random.default_rng(0).standard_normal((3, D)).astype(np.float32)
    image = values[1].reshape(SHAPE)
    found = differences.difference_magnitudes(values, SHAPE)[1]
    assert found[0] == pytest.approx(abs(image[0, 1, 0] - image[0, 0, 0]))
    assert found[-1] == pytest.approx(abs(image[2, -1, -1] - image[2, -1, -2]))
    energy = np.square(found).sum() + differences.LEVEL * np.square(image).sum()
    assert values[1] @ differences.sharpened(values, SHAPE)[1] == pytest.approx(energy, rel=1e-4)


def test_difference_magnitudes_hardly_depend_on_the_mask() -> None:
    pictures = photographs(50)
    encodings, key = hidden(pictures, 2, 4)
    bare = encodings * key.pool[key.mask]
    plain = differences.difference_magnitudes(bare, SHAPE).ravel()
    masked = differences.difference_magnitudes(np.abs(encodings), SHAPE).ravel()
    signed = differences.difference_magnitudes(encodings, SHAPE).ravel()
    assert np.corrcoef(plain, masked)[0, 1] > 0.8
    assert np.corrcoef(plain, signed)[0, 1] < 0.5


def test_signs_are_expected_as_far_as_they_are_known() -> None:
    truth = photographs(40)
    rough = truth + 0.5 * np.random.default_rng(1).standard_normal(truth.shape).astype(np.float32)
    expected = pursuit.expected_signs(np.abs(truth), rough)
    right = expected * np.sign(truth)
    assert np.abs(expected).max() <= 1
    sure = np.abs(expected) > 0.9
    assert (right[sure] > 0).mean() > 0.97
    assert (right[~sure] > 0).mean() < 0.9


@pytest.mark.parametrize(("k", "least"), [(1, 1.0), (2, 0.98), (4, 0.97)])
def test_members_of_single_encodings_are_named_and_the_residual_says_so(k: int, least: float) -> None:
    pictures = photographs(400)
    encodings, key = hidden(pictures[:100], k, 1)
    found = name_members(encodings, pictures, SHAPE, k, starts=4, cycles=3)
    recall = np.array([len({*a} & {*b}) / len({*b}) for a, b in zip(found.support, key.members, strict=True)])
    assert recall.mean() >= least
    solved = found.residual <= pursuit.SOLVED
    assert solved.mean() > 0.9
    assert recall[solved].mean() > 0.99
    weights = found.dense(400)[:, :100]
    true = np.zeros_like(weights)
    np.add.at(true, (np.arange(100)[:, None], key.members), key.weights)
    np.testing.assert_allclose(weights[solved], true[solved], atol=0.02)


def test_of_public_and_private_candidates_the_private_ones_are_handed_in() -> None:
    mixes = pursuit.Mixes(np.array([[7, 2, 0], [9, 8, 1], [8, 9, 7]]), np.zeros((3, 3), np.float32), np.zeros(3))
    candidates = np.arange(10, dtype=np.float32)[:, None]
    assert private_pictures(mixes, candidates, 5, 2)[:, :, 0].tolist() == [[2, 0], [1, 0], [0, 0]]


def test_signs_of_a_cluster_come_from_what_else_is_mixed_in() -> None:
    pictures = photographs(200)
    rng = np.random.default_rng(2)
    others = pictures[rng.integers(1, 200, (25, 2))].mean(axis=1)
    magnitudes = np.abs(0.6 * pictures[0] + 0.4 * others)
    found = clusters.signs(magnitudes, SHAPE, clusters.distance_kernel(SHAPE), rng)
    right = np.square(pictures[0])[found == np.sign(pictures[0])].sum() / np.square(pictures[0]).sum()
    assert max(right, 1 - right) > 0.85


@pytest.mark.slow
def test_pictures_are_found_without_candidates_and_counted() -> None:
    pictures = photographs(20, seed=5)
    encodings, key = hidden(pictures, 3, 50)
    box = np.full(D, -2.0, np.float32), np.full(D, 6.0, np.float32)
    found = blind.recover(encodings, SHAPE, 3, box, np.random.default_rng(0), rounds=8)
    cosine = np.corrcoef(found.pictures, pictures)[: len(found.pictures), len(found.pictures) :]
    assert (cosine.max(axis=0) > 0.95).mean() >= 0.9
    assert abs(len(found.pictures) - 20) <= 3
    # Scale and sign are settled: weights sum to 1, and the box is left on one side.
    best = cosine.argmax(axis=0)
    scale = np.einsum("ij,ij->i", found.pictures[best], pictures) / np.square(pictures).sum(axis=1)
    assert abs(np.median(scale) - 1) < 0.1
    heaviest = key.members[np.arange(len(key.members)), key.weights.argmax(axis=1)]
    named = cosine.argmax(axis=1)[found.mixes.support[np.arange(len(encodings)), found.mixes.weights.argmax(axis=1)]]
    assert (named == heaviest).mean() > 0.8


@pytest.mark.slow
def test_private_pictures_are_what_known_public_ones_leave() -> None:
    pictures, public = photographs(15, seed=6), photographs(300, seed=7)
    defense = Registry().make("defense", "instahide-cross:k=4")
    labels = np.zeros((15, 1), np.float32)
    release, key = defense.release(pictures, labels, Corpus([], public), np.random.default_rng(0), epochs=50)
    encodings = np.asarray(release.encodings)
    found = cross.recover(encodings, public, SHAPE, 4, 2, np.random.default_rng(0), rounds=6, most=750)
    cosine = np.corrcoef(found.pictures, pictures)[: len(found.pictures), len(found.pictures) :]
    assert (cosine.max(axis=0) > 0.95).mean() >= 0.8
    best = cosine.argmax(axis=0)
    scale = np.einsum("ij,ij->i", found.pictures[best], pictures) / np.square(pictures).sum(axis=1)
    assert abs(np.median(scale) - 1) < 0.1
    named = cosine.argmax(axis=1)[found.mixes.support[:, 0]]
    assert (key.members[:, :2] == named[:, None]).any(axis=1).mean() > 0.8


@pytest.mark.parametrize("value", [0.0, 0.7])
def test_constant_pictures_give_an_answer_that_is_a_number(value: float) -> None:
    flat = np.full((30, D), value, np.float32)
    box = np.full(D, -2.0, np.float32), np.full(D, 2.0, np.float32)
    found = blind.recover(flat, SHAPE, 2, box, np.random.default_rng(0), rounds=2)
    assert len(found.pictures) >= 1
    assert np.isfinite(found.pictures).all()
    assert np.isfinite(name_members(flat, photographs(9), SHAPE, 2, starts=2, cycles=1).weights).all()


def test_both_run_behind_the_wall(bench: Callable) -> None:
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--examples", "20", "--json")
    (named,) = json.loads(bench(*common, "--defense", "instahide:k=2", "--attack", "unmix-pictures").stdout)
    assert named["status"] == "ok", named["error"]
    assert named["metrics"]["recall"]["value"] > 0.5  # of 64 pixels, among 1,437 candidates
    assert named["metrics"]["recall"]["random"] < 0.2
    assert named["attack"]["sees"] == ["corpus", "defense", "encoder", "encodings"]
    options = ("--defense", "instahide:k=2", "--epochs", "30", "--attack")
    (pool,) = json.loads(bench(*common, *options, "unmix-blind:rounds=4").stdout)
    assert pool["status"] == "ok", pool["error"]
    assert set(pool["metrics"]) == {"identity", "success", "mse", "psnr", "ssim"}
    assert pool["outcomes"]["metric"] == "success"
    (items,) = json.loads(bench(*common, *options, "unmix-blind:rounds=4,answer=items").stdout)
    assert set(items["details"]["challenge"]) == {"max_ssim", "mean_ssim", "min_l2", "mean_l2"}


def test_another_encoder_is_refused_in_one_line(bench: Callable) -> None:
    args = ("--encoder", "lenet:d=16", "--examples", "9", "--epochs", "2", "--defense", "instahide:k=2")
    done = bench("run", "--dataset", "digits", *args, "--attack", "unmix-blind", "--json")
    (record,) = json.loads(done.stdout)
    assert record["status"] == "failed"
    assert "take --encoder pixels" in record["error"] or "square picture" in record["error"]
