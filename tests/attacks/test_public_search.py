from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from bench.attacks.common import unet
from bench.attacks.public_search import most_similar, without

SHAPE = (1, 8, 8)


def smooth(n: int, rng: np.random.Generator) -> np.ndarray:
    noise = gaussian_filter(rng.standard_normal((n, 8, 8)), (0, 1.5, 1.5)) + 0.05
    return (noise / noise.std()).reshape(n, -1).astype(np.float32)


def test_signs_of_smooth_pictures_with_a_mean_are_learnt_and_counted_on_held_out_ones() -> None:
    rng = np.random.default_rng(0)
    public = smooth(400, rng) + 1

    def make(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.abs(vectors), vectors

    found = unet.train(make, public, SHAPE, rng, steps=30)
    positive = float((public > 0).mean())
    assert found.right > positive
    assert 0 < found.undone <= 1
    fresh = smooth(50, rng) + 1
    np.testing.assert_allclose(np.abs(found(np.abs(fresh))), np.abs(fresh))
    assert (np.sign(found(np.abs(fresh))) == np.sign(fresh)).mean() > positive - 0.05


def test_members_of_a_mix_come_first_and_can_be_taken_off() -> None:
    rng = np.random.default_rng(1)
    public, private = rng.standard_normal((100, 64)).astype(np.float32), smooth(1, rng)
    mixes = 0.3 * private + 0.4 * public[[7]] + 0.3 * public[[60]]
    named = most_similar(mixes, public, SHAPE, 8)
    assert {7, 60} <= set(named[0])
    left = without(mixes, public, np.array([[7, 60]]))
    assert np.corrcoef(left[0], private[0])[0, 1] > 0.95
    assert np.corrcoef(mixes[0], private[0])[0, 1] < 0.9


@pytest.mark.slow
def test_they_run_behind_the_wall(bench: Callable, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for i in range(40):
        pixels = np.random.default_rng(i).integers(0, 256, (10, 10), dtype=np.uint8)
        image.fromarray(pixels).save(tmp_path / f"{i}.png")
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--examples", "12", "--json")
    common = (*common, "--public", f"pictures:{tmp_path},side=8", "--defense")
    (record,) = json.loads(bench(*common, "instahide:k=2", "--attack", "demask:steps=3").stdout)
    assert record["status"] == "ok", record["error"]
    assert 0.3 < record["details"]["signs_right"] <= 1
    (record,) = json.loads(bench(*common, "instahide-cross:k=3", "--attack", "public-search:steps=2,top=3").stdout)
    assert record["status"] == "ok", record["error"]
    assert 0 <= record["details"]["hit_rate"] <= 1
    (record,) = json.loads(bench(*common, "instahide:k=2", "--attack", "public-search:steps=0").stdout)
    assert "mixes in no public pictures" in record["error"]
