from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import Examples
from bench.errors import DataError
from bench.experiment import utility
from bench.training.frozen import Training, fit
from tests.helpers.cli import PLUGINS

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
    assert bare["majority"]["accuracy"] == pytest.approx(0.5, abs=0.01)
    assert 1 <= bare["held_out"]["epoch"] <= 3
    assert noisy["notes"]["accounted"]["epsilon"] > noisy["notes"]["nominal"]["epsilon"]
    table = bench(*args, "--train-epochs", "3")
    assert "undefended" in table.stdout
    assert "utility: ok" not in table.stderr  # from the record, not trained again


@pytest.mark.slow
def test_two_processes_measure_the_same(bench: Run, tmp_path: Path) -> None:
    sizes = ("--defense", "mix-only", "--defense", "texthide:m=4", "--seed", "0", "1", "--train-epochs", "2", "--json")
    found = []
    for jobs in ("1", "2"):
        done = bench("utility", *TOY, *sizes, "--jobs", jobs, "--out", jobs)
        assert done.returncode == 0, done.stderr
        found.append([{k: v for k, v in r.items() if k != "cost"} for r in json.loads(done.stdout)])
    assert len(found[0]) == 6
    assert found[0] == found[1]
    bad = bench("utility", *TOY, *sizes, "--jobs", "0")
    assert bad.returncode == 2
    assert "at least 1" in bad.stderr


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


def test_the_epoch_is_chosen_on_held_out_examples_and_never_on_dev() -> None:
    """With labels that are noise, a head fits them all the same; the held-out tenth stops it, and dev plays no part."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 16)).astype(np.float32)
    targets = np.eye(2, dtype=np.float32)[rng.integers(0, 2, 400)]
    training = Training(epochs=12, batch=32, rate=1e-2)
    order = np.tile(np.arange(400), 12)
    seen: list[float] = []

    def goodness(scores: np.ndarray) -> tuple[float, ...]:
        seen.append(float(scores.std()))
        return (-abs(len(seen) - 3.0),)  # best at the third epoch

    def scores_for(dev: np.ndarray) -> tuple[np.ndarray, int]:
        seen.clear()
        found, epoch, _ = fit(
            *(x[order], targets[order], (x[:40], dev), goodness),
            classes=True,
            training=training,
            seed=0,
            device="cpu",
            progress=lambda text: None,
        )
        return found, epoch

    scores, epoch = scores_for(x[40:80])
    assert epoch == 3
    assert len(seen) == 12
    other, _ = scores_for(x[80:120])
    again, _ = scores_for(x[40:80])
    assert np.array_equal(scores, again)
    assert not np.array_equal(scores, other)
    held = Examples(["x"] * 4, [0, 1, 1, 0], ("no", "yes"))
    sure = np.array([[9, 0], [0, 9], [0, 9], [9, 0]], dtype=np.float32)
    assert utility.goodness(sure, held, "mcc") > utility.goodness(sure / 9, held, "mcc")  # equals: the likelier
    assert utility.goodness(sure / 9, held, "mcc") > utility.goodness(-sure, held, "mcc")


def test_a_utility_run_never_encodes_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are encoded once for all epochs, defenses and seeds."""
    from bench.experiment import cells
    from bench.plugins.registry import Registry

    registry = Registry((str(PLUGINS / "toy.py"),))
    axes = {"dataset": ["demo"], "encoder": ["toy:dim=8"], "defense": ["none", "mix-only"], "seed": [0, 1]}
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path))
    calls: list[int] = []
    trials = cells.trials(registry, axes)
    kind = type(trials[0].encoder.plugin)
    honest = kind.encode
    monkeypatch.setattr(kind, "encode", lambda self, texts, **k: calls.append(len(texts)) or honest(self, texts, **k))
    for trial in trials:
        utility.measure(trial, Training(epochs=2), device="cpu", progress=lambda text: None)
    distinct = {text for split in ("train", "dev") for text in trials[0].dataset.plugin.load(split).texts}
    assert sum(calls) == len(distinct)


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


@pytest.mark.slow
def test_a_convolutional_net_learns_from_magnitudes_and_hardly_from_masked_signs(bench: Run) -> None:
    common = ("utility", "--dataset", "digits", "--defense", "instahide:k=2", "--json")
    found = {}
    for options in ("input=abs,inference=averaged", "input=signed"):
        done = bench(*common, "--encoder", f"convnet:train_epochs=4,{options}")
        assert done.returncode == 0, done.stderr
        bare, hidden = json.loads(done.stdout)
        assert bare["metrics"]["accuracy"] > 0.8
        assert hidden["training"] == {"head": utility.NET, "epochs": 4}
        found[options] = hidden["metrics"]["accuracy"]
    assert found["input=abs,inference=averaged"] > found["input=signed"] + 0.1
    assert found["input=abs,inference=averaged"] > 0.5


def test_options_of_a_head_are_not_for_a_net(bench: Run) -> None:
    done = bench("utility", "--dataset", "digits", "--encoder", "convnet", "--defense", "instahide",
                 "--train-epochs", "3")  # fmt: skip
    assert done.returncode == 2
    assert "convnet:train_epochs=N" in done.stderr
    done = bench("utility", "--dataset", "digits", "--encoder", "convnet:train_epochs=0", "--defense", "instahide")
    assert done.returncode == 2
    assert "at least 1" in done.stderr
