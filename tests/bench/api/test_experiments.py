"""Experiments from Python: a run, its results, objects of scripts, and errors that say what the command line says."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.records.model import AttackRecord
from tests.helpers.cli import PLUGINS

Found = bench.Results[AttackRecord]
TOY = str(PLUGINS / "toy.py")
HOSTILE = str(PLUGINS / "hostile.py")
TINY: dict[str, Any] = {"examples": 20, "candidates": 60, "encoder": "toy", "plugins": [TOY]}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Found:
    out = tmp_path_factory.mktemp("results")
    options = {**TINY, "plugins": [TOY, HOSTILE], "progress": False}
    return bench.run(defense=["none", "mix-only"], attack=["rss", "raises"], seed=range(2), out=out, **options)


def test_results_are_records_in_the_order_of_the_cells(results: Found) -> None:
    assert len(results) == 8
    first = results[0]
    assert isinstance(first, AttackRecord)
    assert (first.defense.label, first.attack.label, first.seed) == ("none", "rss", 0)
    assert isinstance(results[:2], bench.Results)
    assert not results.ok
    assert repr(results).startswith("<Results: 8 records, 4 failed")


def test_failures_are_kept(results: Found) -> None:
    assert [record.status for record in results.failed] == ["failed"] * 4
    assert "failed: none × raises seed 0: " in str(results.table())


def test_a_data_frame_has_a_row_for_each_record_and_metric(results: Found) -> None:
    frame = results.to_dataframe()
    recall = frame[(frame.metric == "recall") & (frame.defense == "none")]
    assert list(recall.seed) == [0, 1]
    assert list(recall.value) == [1.0, 1.0]
    assert (recall.low <= recall.value).all()
    assert (frame[frame.attack == "rss"].groupby(["id", "metric"]).size() == 1).all()
    failed = frame[frame.status == "failed"]
    assert len(failed) == 4
    assert failed.metric.isna().all()
    assert failed.error.notna().all()


def test_the_leak_is_one_number_for_each_pair_pooled_over_seeds(results: Found) -> None:
    leak = results.leak().set_index(["defense", "attack"])
    assert len(leak) == 4
    best = leak.loc[("none", "rss")]
    assert (best.metric, best.leak, best.seeds, best.failed) == ("recall", 1.0, 2, 0)
    assert best.low <= best.leak <= best.high
    mixed = leak.loc[("mix-only", "rss")]
    values = results.to_dataframe().query("defense == 'mix-only' and attack == 'rss' and metric == 'recall'").value
    assert mixed.leak == pytest.approx(values.mean())
    broken = leak.loc[("none", "raises")]
    assert math.isnan(broken.leak)
    assert broken.failed == 2


def test_a_second_run_takes_records_from_the_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = {**TINY, "out": tmp_path}
    first = bench.run(defense="none", attack="rss", **options)
    assert "ok" in capfd.readouterr().err
    assert list(bench.run(defense="none", attack="rss", **options)) == list(first)
    assert "1 of 1 cells are on record" in capfd.readouterr().err
    bench.run(defense="none", attack="rss", **options, progress=False)
    assert capfd.readouterr() == ("", "")


def test_errors_are_those_of_the_command_line(tmp_path: Path) -> None:
    with pytest.raises(bench.UsageError, match="unknown defense 'texthid': did you mean 'texthide'"):
        bench.run(defense="texthid", attack="rss")
    with pytest.raises(bench.UsageError, match="name at least one attack"):
        bench.run(defense="none")
    with pytest.raises(bench.UsageError, match="--suite names its own cells: leave out --defense"):
        bench.run(suite="smoke", defense="none")
    with pytest.raises(bench.UsageError, match="--jobs 0: at least 1"):
        bench.run(defense="none", attack="rss", jobs=0)
    with pytest.raises(bench.UsageError, match="--train-epochs 0: at least 1"):
        bench.utility(defense="none", train_epochs=0)
    with pytest.raises(bench.BenchError, match="no such file"):
        bench.run(defense="none", attack="rss", dataset="file:nowhere.csv", out=tmp_path, progress=False)
    with pytest.raises(TypeError, match=r"unknown argument of bench\.run 'attacks': did you mean 'attack'"):
        bench.run(defense="none", attacks="rss")  # type: ignore[call-arg]


def test_python_and_the_command_line_take_the_same_arguments() -> None:
    from bench.cli.main import parser

    args = vars(parser().parse_args(["run"])).keys() - {
        "command",
        "call",
        "dry_run",
        "replay",
        "json",
        "metrics",
        "debug",
        "pdb",
    }
    assert set(inspect.signature(bench.run).parameters) == args
    args = vars(parser().parse_args(["utility"])).keys() - {"command", "call", "json", "dry_run"}
    assert set(inspect.signature(bench.utility).parameters) == args


def test_utility_measures_the_undefended_figure_too(tmp_path: Path) -> None:
    for name in ("mine.csv", "dev.csv"):
        rows = [f"{'good' if i % 2 else 'bad'} thing {i},{i % 2}" for i in range(60)]
        (tmp_path / name).write_text("\n".join(["text,label", *rows]))
    data = f"file:{tmp_path / 'mine.csv'}"
    found = bench.utility(
        defense="mix-only", dataset=data, encoder="toy", plugins=[TOY], train_epochs=2, out=tmp_path, progress=False
    )
    assert [record.defense.label for record in found] == ["none", "mix-only"]
    assert set(found.to_dataframe().metric) == {"accuracy"}
    assert "undefended" in str(found.table())


SCRIPT = """
from dataclasses import dataclass
import bench

@bench.attack("mine", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class Mine:
    top: int = 4

    def run(self, view, rng):
        return bench.Guess(ranking=view.corpus.search(view.encodings, self.top))

@bench.defense("louder")
@dataclass(frozen=True)
class Louder:
    def release(self, vectors, labels, public, rng, epochs=1):
        from bench.plugins.registry import Registry
        release, key = Registry().make("defense", "none").release(vectors, labels, public, rng, epochs=epochs)
        return bench.Release(release.encodings * 2, release.labels), key

options = dict(examples=20, candidates=60, encoder="toy", plugins=[TOY], progress=False)
for found in (bench.evaluate(Mine(top=3), defense=Louder(), **options),
              bench.evaluate(Louder(), attack="rss", jobs=2, **options)):
    (record,) = found
    print(record.attack.label, record.defense.label, record.status, record.error, record.metrics["identity"].value)
"""


def test_objects_of_a_script_run_in_processes_of_their_own(tmp_path: Path) -> None:
    """Unguarded: were the script itself imported by those processes, it would start itself again and again."""
    (tmp_path / "script.py").write_text(f"TOY = {TOY!r}\n{SCRIPT}")
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["mine:top=3 louder ok None 1.0", "rss louder ok None 1.0"]
    assert len(list((tmp_path / "results" / "plugins").glob("*.py"))) == 2


def test_what_is_evaluated_is_not_named_again() -> None:
    with pytest.raises(bench.UsageError, match="the attack is the object that is evaluated"):
        bench.evaluate(_rss(), attack="rss", defense="none")


def _rss() -> Any:
    from bench.plugins.registry import Registry

    return Registry().make("attack", "rss")
