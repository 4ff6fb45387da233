from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import Examples, utility
from bench.errors import DataError
from tests.conftest import PLUGINS

Run = Callable[..., subprocess.CompletedProcess[str]]
TOY = ("--encoder", "toy:dim=64", "--plugin", str(PLUGINS / "toy.py"))


def test_utility_is_measured_beside_the_undefended_figure_and_stored(bench: Run, tmp_path: Path) -> None:
    for split, start in (("train", 0), ("dev", 1000)):
        rows = [f"{('good', 'bad')[i % 2]} thing number {start + i},{i % 2 + 1}" for i in range(600)]
        (tmp_path / f"{split}.csv").write_text("text,label\n" + "\n".join(rows))
    args = ("utility", "--defense", "dp-ie-gaussian:epsilon=0.1", "--dataset", f"file:{tmp_path / 'train.csv'}", *TOY)
    done = bench(*args, "--train-epochs", "3", "--json")
    assert done.returncode == 0, done.stderr
    bare, noisy = json.loads(done.stdout)
    assert bare["defense"]["name"] == "none"
    assert bare["metrics"]["accuracy"] > 0.95  # one word decides
    assert noisy["metrics"]["accuracy"] < 0.7
    assert noisy["notes"]["accounted"]["epsilon"] > noisy["notes"]["nominal"]["epsilon"]
    table = bench(*args, "--train-epochs", "3")
    assert "undefended" in table.stdout
    assert "utility: ok" not in table.stderr  # from the record, not trained again


def test_a_run_can_carry_the_cost_of_its_defense(bench: Run, tmp_path: Path) -> None:
    sizes = ("--examples", "40", "--candidates", "120")
    args = ("run", "--defense", "mix-only", "--attack", "rss", *TOY, *sizes, "--json")
    (without,) = json.loads(bench(*args).stdout)
    assert without["utility"] is None
    (with_it,) = json.loads(bench(*args, "--utility").stdout)
    assert with_it["id"] == without["id"]
    assert with_it["metrics"] == without["metrics"]
    assert 0.3 < with_it["utility"]["metrics"]["accuracy"] <= 1
    (again,) = json.loads(bench(*args, "--utility").stdout)
    assert again == with_it


def examples(labels: list[float], classes: tuple[str, ...] = ("a", "b", "c")) -> Examples:
    return Examples(["x"] * len(labels), labels, classes)


@pytest.mark.parametrize(
    ("train", "dev", "said"),
    [
        (examples([0, 1]), examples([0, 1, 2]), "class 'c' is in dev but not in train"),
        (examples([0, 1]), examples([0.5, 1.5], ()), "one of train and dev has classes"),
        (examples([0.5, 1.5], ()), examples([0, 1]), "one of train and dev has classes"),
        (examples([1, 1]), examples([1, 1]), "nothing to learn"),
        (examples([0, 1], ("a", "b")), examples([0, 1]), "train has the classes a, b"),
    ],
)
def test_data_that_cannot_be_learnt_is_refused(train: Examples, dev: Examples, said: str) -> None:
    with pytest.raises(DataError, match=said):
        utility.metrics_for(("accuracy",), train, dev)


def test_metrics_are_the_tasks_own() -> None:
    dev = examples([0, 1, 1, 0], ("no", "yes"))
    scores = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], dtype=np.float32)
    found = utility.judge(scores, dev, ["accuracy", "f1", "mcc"])
    assert found == pytest.approx({"accuracy": 0.75, "f1": 2 / 3, "mcc": 0.5773502})
    line = Examples(["x"] * 4, [1.0, 2.0, 3.0, 4.0])
    up = utility.judge(np.array([[1], [4], [9], [16]], dtype=np.float32), line, ["pearson", "spearman"])
    assert up["spearman"] == pytest.approx(1)
    assert 0.9 < up["pearson"] < 1
    assert utility.judge(np.zeros((4, 1), dtype=np.float32), line, ["pearson"]) == {"pearson": 0.0}


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BENCH_DATA_DIR"), reason="BENCH_DATA_DIR is not set: no real GLUE files here")
def test_frozen_vectors_carry_a_real_task_and_mixing_costs_little_of_it(bench: Run) -> None:
    done = bench("utility", "--defense", "mix-only", "--dataset", "stsb", "--json", timeout=900)
    assert done.returncode == 0, done.stderr
    bare, mixed = (r["metrics"]["pearson"] for r in json.loads(done.stdout))
    assert bare > 0.4  # a constant answer has 0
    assert abs(bare - mixed) < 0.1


def test_every_suite_of_the_project_names_what_exists() -> None:
    from bench import plan
    from bench.registry import Registry

    for name, title in plan.suites().items():
        if "bench utility" in title:
            assert plan.trials_from_suite(Registry(), name)
        else:
            assert plan.from_suite(Registry(), name)
