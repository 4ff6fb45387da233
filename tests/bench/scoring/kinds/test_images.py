from __future__ import annotations

import numpy as np
import pytest

from bench import Corpus, Examples, Guess, Key
from bench.isolation.guess import check
from bench.scoring.kinds import Expected
from bench.scoring.kinds.images import score
from bench.scoring.kinds.picture_similarity import ssim
from bench.scoring.metrics.pictures import SUCCESS
from bench.scoring.truth import Truth

RNG = np.random.default_rng


def truth(n: int = 12, k: int = 1, m: int = 0) -> Truth:
    rng = RNG(0)
    images = rng.random((n, 1, 4, 4), dtype=np.float32)
    members = np.stack([np.roll(np.arange(n), -j) for j in range(k)], axis=1)
    pool = np.ones((m, 5), dtype=np.int8) if m else None
    key = Key(members[:, 0], members, np.full((n, k), 1 / k, np.float32), np.zeros(n, np.int64) if m else None, pool)
    private = Examples([f"p {i}" for i in range(n)], np.zeros(n, int), ("a",), images)
    return Truth(private, np.zeros((n, 5), np.float32), key, Corpus([], np.zeros((0, 5), np.float32)), np.zeros(0))


def test_what_is_near_enough_is_a_success_and_the_random_level_is_not() -> None:
    world = truth()
    guess = world.private.images[:, None].copy()
    guess[:3] += np.sqrt(SUCCESS) * 1.05
    guess[3:] += np.sqrt(SUCCESS) * 0.9
    metrics = score(Guess(images=guess), world, None, RNG(0)).metrics
    assert metrics["success"]["value"] == pytest.approx(9 / 12)
    assert metrics["success"]["low"] < 0.75 < metrics["success"]["high"]
    assert 0 < metrics["success"]["random"] < 0.2  # one in twelve draws the right one
    assert metrics["mse"]["value"] == pytest.approx(SUCCESS * (3 * 1.05**2 + 9 * 0.9**2) / 12, rel=1e-3)
    assert metrics["psnr"]["value"] == pytest.approx(30, abs=1)
    assert metrics["mse"]["random"] == pytest.approx(1 / 6, rel=0.2)  # two uniform numbers


def test_what_is_not_a_number_counts_as_failed_and_is_not_dropped() -> None:
    world = truth()
    guess = world.private.images[:, None].copy()
    guess[0, 0, 0, 0, 0] = np.nan
    guess[1] = np.inf
    found = score(Guess(images=guess), world, None, RNG(0))
    assert found.metrics["success"]["value"] == pytest.approx(10 / 12)
    assert found.facts["not_finite"] == 2
    assert np.isfinite(found.items["mse"]).all()
    assert len(found.items["mse"]) == 12


def test_a_mix_is_judged_by_the_best_matching_of_its_dummies() -> None:
    world = truth(k=3)
    images, key = world.private.images, world.key
    shuffled = images[key.members[:, [2, 0, 1]]]
    metrics = score(Guess(images=shuffled), world, None, RNG(0)).metrics
    assert metrics["success"]["value"] == 1
    assert metrics["recall"]["value"] == 1
    one_missing = shuffled.copy()
    one_missing[:, 1] = 0.5  # the owner's
    metrics = score(Guess(images=one_missing), world, None, RNG(0)).metrics
    assert metrics["success"]["value"] == 0
    assert metrics["recall"]["value"] == pytest.approx(2 / 3)


def test_one_dummy_is_held_against_the_picture_that_the_item_belongs_to() -> None:
    world = truth(k=2)
    other = world.private.images[world.key.members[:, [1]]]
    metrics = score(Guess(images=other), world, None, RNG(0)).metrics
    assert metrics["success"]["value"] == 0
    assert metrics["recall"]["value"] == 0.5


def test_curves_are_drawn_where_the_truth_is_known() -> None:
    world = truth(m=1)
    images = world.private.images
    guess = images[:, None].copy()
    guess[0] = 0
    path = np.stack([np.zeros_like(images), images], axis=1)[:4, :, None]
    path[0, 1] = np.nan
    trail = {
        "steps": np.array([1, 9]),
        "distance": np.array([[5.0, np.nan]] + [[5.0, 0.0]] * 3),
        "images": path,
        "masks": np.stack([np.zeros((4, 5)), np.ones((4, 5))], axis=1),
    }
    good, bad = score(Guess(images=guess, trail=trail), world, None, RNG(0)).facts["curves"]
    assert (good["success"], good["item"]) == (True, 1)
    assert good["iteration"] == [1, 9]
    assert good["input_error"] == [pytest.approx((images[1] ** 2).mean(), rel=1e-3), 0.0]
    assert good["mask_error"] == [1.0, 0.0]
    assert (bad["success"], bad["item"], bad["distance"]) == (False, 0, [5.0])


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (Guess(images=np.zeros((12, 1, 1, 4, 5))), "expected 12 × dummies × 1 × 4 × 4"),
        (Guess(images=np.zeros((11, 1, 1, 4, 4))), "expected 12"),
        (Guess(vectors=np.zeros((12, 5))), "the private examples are images"),
    ],
)
def test_a_guess_of_another_form_is_explained(guess: Guess, said: str) -> None:
    assert said in str(check(guess, Expected("images", 12, 1, 12, 5, (1, 4, 4))))


def test_pictures_guessed_for_text_are_explained() -> None:
    assert "the private examples are text" in str(
        check(Guess(images=np.zeros((3, 1, 1, 4, 4))), Expected("text", 3, 1, 3, 5))
    )


def pixel_truth(n: int = 6, extra: int = 10, k: int = 1, public: bool = False) -> Truth:
    """Pixels, shifted and scaled, are what is hidden; the candidates are the private pictures and others."""
    rng = RNG(1)
    images = rng.random((n + extra, 3, 8, 8), dtype=np.float32)
    vectors = ((images - 0.4) / 0.2).reshape(n + extra, -1)
    members = np.stack([np.roll(np.arange(n), -j) for j in range(k)], axis=1)
    if public:
        members = np.pad(members, ((0, 0), (0, 2)), constant_values=-1)
    key = Key(members[:, 0], members, np.full(members.shape, 0.5, np.float32))
    private = Examples([f"p {i}" for i in range(n)], np.zeros(n, int), ("a",), images[:n])
    order = rng.permutation(n + extra)
    corpus = Corpus([str(i) for i in order], vectors[order])
    return Truth(private, vectors[:n], key, corpus, np.zeros(n + extra))


def test_ssim_is_that_of_scikit_image() -> None:
    metrics = pytest.importorskip("skimage.metrics")
    rng = RNG(0)
    for shape in ((3, 32, 32), (1, 28, 28), (1, 8, 8)):
        first = rng.random((300, *shape), dtype=np.float32)
        second = np.clip(first + 0.2 * rng.standard_normal(first.shape, dtype=np.float32), 0, 1)
        found = ssim(first, second)
        for i in (0, 7, 299):
            theirs = metrics.structural_similarity(
                first[i].astype(float), second[i].astype(float), channel_axis=0, data_range=1
            )
            assert found[i] == pytest.approx(theirs, abs=1e-9)
    assert ssim(first[:2], first[:2]) == pytest.approx([1, 1])
    assert np.isfinite(ssim(np.zeros((1, 1, 8, 8), np.float32), np.ones((1, 1, 8, 8), np.float32))).all()


def test_a_pool_is_matched_one_to_one_and_what_is_missing_counts() -> None:
    world = pixel_truth()
    images = world.private.images
    pool = images[[4, 2, 0, 5]] + np.float32(0.01)
    found = score(Guess(images=pool), world, None, RNG(0))
    assert found.metrics["identity"]["value"] == pytest.approx(4 / 6)
    assert found.metrics["success"]["value"] == pytest.approx(4 / 6)
    assert found.metrics["ssim"]["value"] == pytest.approx(4 / 6, abs=0.02)
    assert found.metrics["identity"]["random"] < 0.5
    black = (images[[1, 3]] ** 2).mean()
    assert found.metrics["mse"]["value"] == pytest.approx((4 * 1e-4 + 2 * black) / 6, rel=1e-3)
    assert "recall" not in found.metrics
    np.testing.assert_allclose(found.items["recovered"][2], (images[2] + 0.01).ravel(), atol=1e-6)


def test_surplus_pictures_and_two_of_one_count_against() -> None:
    world = pixel_truth()
    images = world.private.images
    surplus = np.concatenate([images, RNG(3).random((6, 3, 8, 8), dtype=np.float32)])
    found = score(Guess(images=surplus), world, None, RNG(0)).metrics
    assert found["success"]["value"] == pytest.approx(0.5)
    assert found["ssim"]["value"] == pytest.approx(0.5, abs=0.01)
    assert found["mse"]["value"] > 0.05
    twins = np.repeat(images[:1], 6, axis=0)
    assert score(Guess(images=twins), world, None, RNG(0)).metrics["identity"]["value"] == pytest.approx(1 / 6)


def test_a_pool_with_what_is_no_number_is_scored() -> None:
    world = pixel_truth()
    pool = world.private.images.copy()
    pool[0, 0, 0, 0] = np.nan
    found = score(Guess(images=pool), world, None, RNG(0))
    assert found.metrics["success"]["value"] == pytest.approx(5 / 6)
    assert found.facts["not_finite"] == 1
    assert found.facts["reconstructed"] == 6


def test_public_slots_are_nobodys_to_recover() -> None:
    world = pixel_truth(k=2, public=True)
    members = world.private.images[world.key.members[:, :2]]
    metrics = score(Guess(images=members[:, ::-1]), world, None, RNG(0)).metrics
    assert metrics["recall"]["value"] == 1
    assert metrics["success"]["value"] == 1
    assert metrics["identity"]["value"] == 1
    half = score(Guess(images=members[:, :1]), world, None, RNG(0)).metrics
    assert half["recall"]["value"] == 0.5


def test_the_challenge_takes_best_and_mean_of_the_private_pictures_in_a_mix() -> None:
    world = pixel_truth(k=2, public=True)
    images, members = world.private.images, world.key.members
    second = images[members[:, 1]]
    found = score(Guess(images=second[:, None]), world, None, RNG(0)).facts["challenge"]
    other = ssim(second, images[members[:, 0]])
    assert found["max_ssim"] == pytest.approx(1)
    assert found["mean_ssim"] == pytest.approx((1 + other.mean()) / 2)
    assert found["min_l2"] == 0
    assert found["mean_l2"] == pytest.approx(2 * ((second - images[members[:, 0]]) ** 2).mean(), rel=1e-5)


@pytest.mark.parametrize(("count", "said"), [(0, "0 images"), (12 * 20 + 1, "241 images in all; expected 1 to 240")])
def test_a_pool_of_an_odd_size_is_refused(count: int, said: str) -> None:
    guess = Guess(images=np.zeros((count, 1, 4, 4)))
    assert said in str(check(guess, Expected("images", 12, 1, 12, 5, (1, 4, 4))))
