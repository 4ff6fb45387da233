from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bench import Corpus
from bench.attacks.common.pixels import last_sign
from bench.attacks.unmix_unknown import common_signs, private_share
from bench.plugins.registry import Registry


def test_the_shape_of_the_mean_tells_pictures_from_negatives_and_brightness_does_not() -> None:
    rng = np.random.default_rng(0)
    shape = np.linspace(-0.2, 0.2, 64).astype(np.float32)
    public = shape + rng.standard_normal((2000, 64)).astype(np.float32) - 0.5
    pictures = shape + rng.standard_normal((200, 64)).astype(np.float32) + 0.3
    assert last_sign(pictures, public) == 1
    assert last_sign(-pictures, public) == -1


def test_two_heavy_pictures_that_meet_often_do_not_leave_the_signs_of_others_to_chance() -> None:
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(60) < 0.5, -1, 1).astype(np.float32)
    weights = np.zeros((860, 60), dtype=np.float32)
    weights[:200, :2] = 3
    for row in weights[200:800]:  # all others meet each other with the right signs
        row[2 + rng.choice(58, 2, replace=False)] = 0.2
    for other in range(2, 60):  # and one of the two by mistake, with any
        weights[800 + other, other], weights[800 + other, 0] = 0.1, rng.choice([-0.1, 0.1])
    agreed = common_signs(weights * signs) * signs
    assert abs(agreed[2:].sum()) == 58
    together = weights.T @ weights
    np.fill_diagonal(together, 0)
    owned = np.linalg.eigh(together)[1][2:, -1]
    assert abs(np.sign(owned).sum()) < 40  # what it is there for


@pytest.mark.parametrize(("spec", "low", "high"), [("instahide:k=2", 1, 1), ("instahide-cross:k=6", 0.3, 0.6)])
def test_what_private_pictures_weigh_is_seen_by_running_the_scheme(spec: str, low: float, high: float) -> None:
    public = Corpus([], np.random.default_rng(1).standard_normal((20, 16)).astype(np.float32))
    defense = Registry().make("defense", spec)

    def release(vectors: np.ndarray, labels: np.ndarray, rng: np.random.Generator, epochs: int):
        return defense.release(vectors, labels, public, rng, epochs=epochs)

    share = private_share(SimpleNamespace(defense=SimpleNamespace(release=release)), 16, np.random.default_rng(2))
    assert low - 1e-5 <= share <= high + 1e-5


@pytest.mark.slow
def test_it_runs_behind_the_wall(bench: Callable, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for i in range(12):
        pixels = np.random.default_rng(i).integers(0, 256, (10, 10), dtype=np.uint8)
        image.fromarray(pixels).save(tmp_path / f"{i}.png")
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--examples", "20", "--epochs", "20", "--json")
    common = (*common, "--public", f"pictures:{tmp_path},side=8", "--defense", "instahide-cross:k=3")
    (record,) = json.loads(bench(*common, "--attack", "unmix-unknown:rounds=2,answer=items").stdout)
    assert record["status"] == "ok", record["error"]
    assert set(record["details"]["challenge"]) == {"max_ssim", "mean_ssim", "min_l2", "mean_l2"}
