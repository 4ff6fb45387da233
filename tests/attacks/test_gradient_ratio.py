from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import Corpus, mixing
from bench.attacks.gradient_ratio import GradientRatio, inputs
from tests.helpers.cli import TINY
from tests.helpers.scenarios import image_scenario, text_scenario


def test_the_ratio_is_the_encoding() -> None:
    scenario = text_scenario(n=40, dim=24, k=3)
    found = scenario.gradients()
    vectors, dead = inputs(found["head1.weight"], found["head1.bias"])
    encodings = mixing.apply(scenario.vectors, scenario.key)
    assert not dead.any()
    assert np.abs(vectors - encodings).max() <= 1e-6 * np.abs(encodings).max()


def test_dead_units_do_no_harm() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 6)).astype(np.float32)
    delta = rng.standard_normal((3, 5)).astype(np.float32)
    delta[0, 1:] = 0  # one unit is alive
    delta[1] *= 1e-30  # squares of this are zero in float32
    delta[2] = 0  # nothing is left
    vectors, dead = inputs(delta[:, :, None] * x[:, None], delta)
    assert np.allclose(vectors[:2], x[:2], rtol=1e-5)
    assert dead.tolist() == [False, False, True]
    assert (vectors[2] == 0).all()


@pytest.mark.parametrize("k", [1, 3])
def test_a_masks_signs_lie_open_in_the_gradients_of_pictures(k: int) -> None:
    """What docs/attacks/dlg.md says: δ of the hidden layer is mask ⊙ Wᵀδ′, and both δ are bias gradients."""
    scenario = image_scenario(n=5, d=6, k=k)
    found = scenario.gradients()
    ratio = found["hidden.bias"] / (found["head1.bias"] @ scenario.victim.weights["head1.weight"])
    assert scenario.key.pool is not None
    assert np.allclose(ratio, scenario.key.pool[scenario.key.mask], rtol=1e-3)


def test_gradients_of_a_batch_are_refused(tmp_path: Path) -> None:
    scenario = text_scenario()
    scenario.victim = replace(scenario.victim, batch=2)
    seen = scenario.view(tmp_path, {"gradients", "corpus"}, corpus=Corpus(["a"] * 5, scenario.vectors))
    with pytest.raises(ValueError, match="only at batch 1"):
        GradientRatio().run(seen, np.random.default_rng(0))


def test_head_gradients_are_worth_as_much_as_encodings(bench: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    args = ("run", "--defense", "none", "--defense", "mix-only:k=2", "--attack", "rss", "--attack", "gradient-ratio")
    records = json.loads(bench(*args, *TINY, "--json").stdout)
    metrics = {(r["defense"]["name"], r["attack"]["name"]): r["metrics"] for r in records}
    for defense in ("none", "mix-only"):
        assert metrics[defense, "gradient-ratio"] == metrics[defense, "rss"]
    assert metrics["none", "gradient-ratio"]["identity"]["value"] == 1
