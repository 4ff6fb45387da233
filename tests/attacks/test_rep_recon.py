from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import Corpus, Guess, Release
from bench.attacks.rep_recon import RepRecon
from bench.isolation import view as views
from tests.helpers.scenarios import surfaces_of

RNG = np.random.default_rng(0)
VECTORS = (RNG.standard_normal((400, 24)) + 2).astype(np.float32)
MASK = np.where(RNG.random(24) < 0.5, -1, 1).astype(np.float32)
SMALL = RepRecon(epochs=15, hidden=64, batch=32)


def run(folder: Path, encodings: np.ndarray, oracle: Callable[[np.ndarray], np.ndarray], attack: RepRecon) -> Guess:
    corpus = Corpus([str(i) for i in range(len(VECTORS))], VECTORS)
    release = Release(encodings, np.zeros((len(encodings), 1)))
    views.write(folder, ("corpus", "encodings", "oracle"), surfaces_of(release), corpus=corpus)
    seen = views.View(folder, oracle=oracle)
    guess = attack.run(seen, np.random.default_rng(1))
    assert seen.used == {"corpus", "encodings", "oracle"}
    return guess


def test_a_fixed_mask_is_learnt(tmp_path: Path) -> None:
    guess = run(tmp_path, VECTORS[:50] * MASK, lambda vectors: vectors * MASK, SMALL)
    assert guess.ranking is not None
    assert guess.ranking.shape == (50, 16)
    assert (guess.ranking[:, 0] == np.arange(50)).mean() > 0.9
    assert guess.details["held-out error"] < 0.5


def test_fresh_masks_are_not(tmp_path: Path) -> None:
    """Training error then stays at that of guessing the mean: 1 in units of the spread."""
    fresh = np.random.default_rng(3)
    guess = run(
        tmp_path,
        VECTORS[:50] * MASK,
        lambda vectors: vectors * np.where(fresh.random(vectors.shape) < 0.5, -1, 1),
        SMALL,
    )
    assert guess.ranking is not None
    assert (guess.ranking[:, 0] == np.arange(50)).mean() < 0.3
    assert guess.details["held-out error"] > 0.6


def test_every_epoch_asks_for_fresh_encodings_of_the_allowed_number(tmp_path: Path) -> None:
    asked: list[int] = []

    def oracle(vectors: np.ndarray) -> np.ndarray:
        asked.append(len(vectors))
        return vectors

    run(tmp_path, VECTORS[:5], oracle, RepRecon(epochs=3, hidden=8, queries=100))
    assert asked == [100, 100, 100, 40]


def test_the_same_seed_gives_the_same_answer(tmp_path: Path) -> None:
    attack = RepRecon(epochs=2, hidden=16)
    both = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        both.append(run(folder, VECTORS[:20] * MASK, lambda vectors: vectors * MASK, attack).ranking)
    assert np.array_equal(both[0], both[1])


@pytest.mark.parametrize("bad", ["epochs", "queries", "hidden", "batch", "top", "rate"])
def test_options_must_be_positive(bad: str) -> None:
    with pytest.raises(ValueError, match=bad):
        RepRecon(**{bad: 0})
