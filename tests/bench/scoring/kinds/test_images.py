from __future__ import annotations

import numpy as np
import pytest

from bench import Corpus, Examples, Guess, Key
from bench.isolation.guess import check
from bench.scoring.kinds import Expected
from bench.scoring.kinds.images import score
from bench.scoring.metrics import SUCCESS
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
