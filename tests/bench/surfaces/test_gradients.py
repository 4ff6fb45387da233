"""The released gradients are those of the loss on what the defense released, item by item."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench.isolation import view
from bench.surfaces import gradients
from tests.helpers.scenarios import GradientScenario, image_scenario, text_scenario

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    "scenario",
    [image_scenario(d=6), image_scenario(d=0, m=0), image_scenario(d=6, k=3, side=16, channels=3), text_scenario()],
    ids=["mask", "vanilla", "mix", "text"],
)
def test_gradients_flow_through_mix_and_mask(scenario: GradientScenario) -> None:
    expected = scenario.exact_gradients()
    for name, value in scenario.gradients().items():
        assert value.dtype == np.float32
        assert np.abs(value - expected[name]).max() <= 1e-6 * max(1.0, np.abs(expected[name]).max()), name


def test_gradients_are_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = text_scenario(n=7)
    whole = scenario.gradients()
    monkeypatch.setattr(gradients, "BLOCK", 2 * 8 * scenario.victim.parameters)
    rows = [rows for rows, _ in scenario.source.blocks()]
    assert [r.start for r in rows] == [0, 2, 4, 6]
    for name, value in scenario.gradients().items():
        assert np.allclose(value, whole[name], atol=1e-7)


def test_the_view_holds_gradients_and_model_and_no_encodings(tmp_path: Path) -> None:
    scenario = image_scenario(n=3, d=4)
    seen = scenario.view(tmp_path, {"gradients"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["gradients", "model", "view.json"]
    assert np.array_equal(seen.gradients["hidden.weight"], scenario.gradients()["hidden.weight"])
    assert np.array_equal(seen.model.weights["conv2.weight"], scenario.victim.weights["conv2.weight"])
    assert (seen.model.picture, seen.model.outputs, seen.model.batch) == ((1, 8, 8), 4, 1)
    with pytest.raises(view.NotGranted, match="add 'labels' to sees"):
        _ = seen.labels
    with pytest.raises(view.NotGranted, match="add 'encodings' to sees"):
        _ = seen.encodings


def test_what_would_not_fit_on_disk_is_refused_with_a_number_that_fits(bench: Run, tmp_path: Path) -> None:
    done = bench(
        *("run", "--dataset", "digits", "--encoder", "lenet:d=100000", "--defense", "none", "--attack", "dlg:steps=1"),
        *("--examples", "500", "--json"),
    )
    (record,) = json.loads(done.stdout)
    assert record["status"] == "failed"
    assert "above the limit of 4096 MiB: lower --examples" in record["error"]


def test_a_representation_narrower_than_the_classes_is_noted(bench: Run) -> None:
    done = bench(
        *("run", "--dataset", "digits", "--encoder", "lenet:d=4", "--defense", "texthide:m=1,k=1", "--attack"),
        *("dlg:steps=1,inner=2", "--examples", "2", "--json"),
    )
    (record,) = json.loads(done.stdout)
    assert record["status"] == "ok", record["error"]
    assert record["notes"]["narrow"] == "the representation has 4 dimensions for 10 classes"
    assert record["attack"]["sees"] == ["defense", "gradients", "labels"]  # no corpus: there is no text to name
    assert record["encoder"]["dim"] == 4


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("--dataset", "digits", "--encoder", "lenet", "--attack", "rss"),
            "images, and attack 'rss' works on text",
        ),
        (("--dataset", "digits", "--attack", "dlg"), "holds images, and encoder 'minilm' works on text"),
        (
            ("--dataset", "demo", "--encoder", "lenet", "--attack", "dlg"),
            "text, and encoder 'lenet' works on images",
        ),
        (("--dataset", "digits", "--encoder", "lenet:d=-3", "--attack", "dlg"), "d must be at least 1"),
    ],
)
def test_text_and_pictures_are_not_mixed_up(args: tuple[str, ...], said: str, bench: Run) -> None:
    done = bench("run", "--defense", "none", *args)
    assert done.returncode == 2
    assert said in done.stderr
