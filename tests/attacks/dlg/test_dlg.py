"""Gradient matching from end to end: pictures and vectors come back, and what goes wrong is counted and explained."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import Corpus, mixing
from bench.attacks.dlg import DLG, DLGBlind
from bench.experiment.suites import from_suite
from bench.plugins.registry import Registry
from tests.helpers.cli import TINY
from tests.helpers.scenarios import image_scenario, text_scenario

Run = Callable[..., subprocess.CompletedProcess[str]]
SEES = {"gradients", "labels", "corpus", "defense"}
RNG = np.random.default_rng


def scheme(spec: str) -> dict:
    name, _, options = spec.partition(":")
    return {"name": name, "options": dict(o.split("=") for o in options.split(",") if o), "spec": spec}


def errors(guess, scenario) -> np.ndarray:
    return ((guess.images[:, 0] - scenario.images[scenario.key.owner]) ** 2).mean(axis=(1, 2, 3))


def test_pictures_come_back_without_a_defense(tmp_path: Path) -> None:
    scenario = image_scenario(n=6, d=0, m=0)
    guess = DLG(steps=60, precision="float64").run(scenario.view(tmp_path, SEES, scheme("none")), RNG(0))
    assert guess.images.shape == (6, 1, 1, 8, 8)
    found = errors(guess, scenario)
    assert (found <= 1e-3).sum() >= 3
    # The attack knows by its distance which of them it got.
    distance = np.array(guess.details["distance"])
    assert distance[found <= 1e-3].max() < distance[found > 0.1].min(initial=np.inf)
    assert sum(guess.details["ended"].values()) == 6
    assert "masks" not in guess.trail


def test_the_mask_is_learnt_where_the_scheme_has_one(tmp_path: Path) -> None:
    scenario = image_scenario(n=8, d=16)
    seen = scenario.view(tmp_path, SEES, scheme("texthide:m=1,k=1"))
    guess = DLG(steps=100, precision="float64", restarts=2).run(seen, RNG(1))
    good = errors(guess, scenario) <= 1e-3
    assert good.sum() >= 2
    assert guess.trail["masks"].shape[2] == 16
    blind = DLG(steps=5, mask="none").run(seen, RNG(1))
    assert (errors(blind, scenario) > 1e-3).all()


def test_k_dummies_are_as_many_as_the_scheme_mixes(tmp_path: Path) -> None:
    scenario = image_scenario(n=3, d=6, k=3)
    seen = scenario.view(tmp_path, SEES, scheme("texthide:m=1,k=3"))
    assert DLG(steps=1, inner=2, dummies="k").run(seen, RNG(0)).images.shape == (3, 3, 1, 8, 8)
    assert DLG(steps=1, inner=2).run(seen, RNG(0)).images.shape == (3, 1, 1, 8, 8)


@pytest.mark.parametrize("options", [{"optimizer": "adam"}, {"search": "strong-wolfe"}, {"batch": 2}])
def test_every_variant_comes_nearer(options: dict, tmp_path: Path) -> None:
    scenario = image_scenario(n=4, d=0, m=0)
    seen = scenario.view(tmp_path, SEES, scheme("none"))
    first = np.array(DLG(steps=1, inner=1, **options).run(seen, RNG(0)).details["distance"])
    later = np.array(DLG(steps=10, **options).run(seen, RNG(0)).details["distance"])
    assert (later < first).sum() >= 3


def test_the_label_can_be_learnt(tmp_path: Path) -> None:
    scenario = image_scenario(n=6, d=0, m=0)
    seen = scenario.view(tmp_path, SEES - {"labels"}, scheme("none"))
    guess = DLGBlind(steps=60, precision="float64").run(seen, RNG(0))
    assert (errors(guess, scenario) <= 1e-3).sum() >= 1
    assert "labels" not in seen.used
    with pytest.raises(AttributeError, match="add 'labels' to sees"):
        DLG(steps=1).run(seen, RNG(0))


def test_text_gives_back_the_encodings(tmp_path: Path) -> None:
    scenario = text_scenario(n=6, dim=12, k=2)
    encodings = mixing.apply(scenario.vectors, scenario.key)
    rng = RNG(5)
    corpus = Corpus(["x"] * 200, np.concatenate([rng.standard_normal((194, 12)), encodings]).astype(np.float32))
    seen = scenario.view(tmp_path, SEES, scheme("texthide:m=3,k=2"), corpus)
    guess = DLG(steps=100, precision="float64", restarts=5).run(seen, RNG(0))
    # Where the gradients agree, so does the vector: its nearest of 200 is the encoding itself.
    matched = np.array(guess.details["distance"]) < 1e-8
    assert matched.sum() >= 3
    assert (guess.ranking[matched, 0] == 194 + np.flatnonzero(matched)).all()


def test_text_is_scored_by_all_metrics(bench: Run) -> None:
    done = bench("run", "--defense", "none", "--attack", "dlg:steps=3", *TINY[2:], "--examples", "6", "--json")
    (record,) = json.loads(done.stdout)
    assert record["status"] == "ok", record["error"]
    assert {"identity", "jaccard", "tfidf", "label", "sbert", "recall", "success"} <= record["metrics"].keys()
    assert record["attack"]["sees"] == ["corpus", "defense", "gradients", "labels"]


def test_pictures_are_scored_and_leave_curves(bench: Run) -> None:
    args = ("run", "--dataset", "digits", "--encoder", "lenet", "--defense", "none", "--attack", "dlg:steps=40")
    done = bench(*args, "--examples", "8", "--json")
    (record,) = json.loads(done.stdout)
    assert record["status"] == "ok", record["error"]
    assert list(record["metrics"]) == ["recall", "success", "mse", "psnr", "ssim"]
    assert record["metrics"]["success"]["value"] > 0
    assert record["metrics"]["success"]["random"] < record["metrics"]["success"]["value"]
    assert len(record["details"]["iterations"]) == 8
    good = next(c for c in record["details"]["curves"] if c["success"])
    assert len(good["iteration"]) == len(good["distance"]) == len(good["input_error"])
    assert good["input_error"][-1] < 0.01 * good["input_error"][0]
    assert good["distance"][-1] < 1e-3 * good["distance"][0]
    # The same command, the same numbers, without running it again.
    again = json.loads(bench(*args, "--examples", "8", "--json").stdout)[0]
    assert again == record


def test_a_start_that_is_not_finite_is_counted_as_a_failure(tmp_path: Path) -> None:
    scenario = image_scenario(n=3, d=0, m=0)
    scenario.victim.weights["head1.weight"][:] *= 1e30  # the loss overflows at once
    guess = DLG(steps=2).run(scenario.view(tmp_path, SEES, scheme("none")), RNG(0))
    assert guess.images.shape == (3, 1, 1, 8, 8)
    assert guess.details["distance"] == [None, None, None]


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"restarts": 0}, {"rate": -1.0}, {"batch": 0}])
def test_impossible_options_are_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DLG(**wrong)


def test_the_suite_is_the_papers_table() -> None:
    cells = from_suite(Registry(), "texthide-table2")
    published = [c for c in cells if c.attack.options["dummies"] == "1" and c.defense.name == "texthide"]
    assert {(c.defense.options["k"], c.encoder.options["d"]) for c in published} == {
        (k, d) for k in (1, 2, 4) for d in (4, 16, 64, 256, 1024)
    }
    assert all(c.defense.options["m"] == 1 for c in published)
    assert all(c.protocol.examples >= 16 for c in published)
    masks = {c.encoder.options["d"] for c in published if c.defense.options["k"] == 1 and c.protocol.examples == 50}
    assert masks == {4, 16, 64, 256, 1024}
    assert next(c.encoder.options["d"] for c in cells if c.defense.name == "none") == 0
