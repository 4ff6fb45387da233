from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from bench.attacks.instahide_paper import _similar


def test_similar_encodings_are_those_of_the_same_picture() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.standard_normal((10, 64)).astype(np.float32)
    values = np.repeat(pictures, 6, axis=0) + 0.3 * rng.standard_normal((60, 64)).astype(np.float32)
    near = _similar(values, (1, 8, 8), 3)
    assert (near // 6 == np.arange(60)[:, None] // 6).mean() > 0.95
    assert (near != np.arange(60)[:, None]).all()


def test_they_run_behind_the_wall_and_the_mask_stops_averaging(bench: Callable) -> None:
    common = ("run", "--dataset", "digits", "--encoder", "pixels", "--examples", "20", "--json")
    found = {}
    for defense in ("mix-only:k=2", "instahide:k=2"):
        done = bench(*common, "--defense", defense, "--attack", "average", "--epochs", "20")
        (record,) = json.loads(done.stdout)
        assert record["status"] == "ok", record["error"]
        found[defense] = record["metrics"]["mse"]["value"]
    assert found["mix-only:k=2"] < found["instahide:k=2"]
    (record,) = json.loads(bench(*common, "--defense", "instahide:k=1", "--attack", "braverman-pictures").stdout)
    assert record["status"] == "ok", record["error"]
    assert record["metrics"]["recall"]["value"] > record["metrics"]["recall"]["random_high"]
