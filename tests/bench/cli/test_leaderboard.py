from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli import PLUGINS, TINY
from tests.helpers.records import attack_record, failed_record, utility_record, write_damaged, write_records

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_show_prints_the_command_that_gives_the_same_record(bench: Run, tmp_path: Path) -> None:
    bench("run", "--defense", "mix-only:k=2", "--attack", "rss", "--seed", "3", *TINY)
    (path,) = (tmp_path / "home" / "results").glob("*.json")
    record = json.loads(path.read_text())
    shown = json.loads(bench("show", record["id"][:6], "--json").stdout)
    assert {key: shown[key] for key in record} == record
    words = shown["command"].split()
    assert words[:2] == ["bench", "run"]
    said = bench("show", record["id"][:6]).stdout
    assert "FILE is the file that holds encoder toy" in said
    assert words[-2:] == ["--plugin", "FILE"]
    again = bench(*words[1:-1], str(PLUGINS / "toy.py"), "--out", "again", "--json")
    (repeated,) = json.loads(again.stdout)
    assert (repeated["id"], repeated["metrics"]) == (record["id"], record["metrics"])


@pytest.fixture
def ids(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    suites = {"main": 2}
    notes = {"nominal": {"epsilon": 1.0}, "accounted": {"epsilon": 27.1, "delta": 1e-5}, "clip_bound": 7.5}
    details = {"confidence_auc": 0.9, "curves": [{"mse": [0.1]}]}
    dataset = {"name": "cola", "label": "cola", "fingerprint": "f", "candidates": 2000}
    good = attack_record("dp-ie-gaussian", suites=suites, notes=notes, details=details).replace(dataset=dataset)
    some = {
        "good": good,
        "failed": failed_record("texthide"),
        "sealed": attack_record("b", sealed=True, salt="abc", tried={"attempts": {}, "left_behind": 0}),
        "utility": utility_record("none", None, held_out={"epoch": 3, "accuracy": 0.91}),
    }
    write_records(home / "leaderboards" / "records", *some.values())
    return {name: record.id for name, record in some.items()}


def test_show_says_how_a_record_was_made(bench: Run, ids: dict[str, str]) -> None:
    said = bench("show", ids["good"]).stdout
    for word in ("cola; fingerprint f", "main version 2", "4 × 1", "1 → 27.1", "sees corpus, encodings", "python=3.11"):
        assert word in said
    assert "2,000 candidates" in said
    assert "δ = 1e-05" in said
    assert "clip_bound=7.5" in said
    assert "confidence_auc=0.9" in said
    assert "curves" not in said
    assert "epoch=3, accuracy=0.91" in bench("show", ids["utility"]).stdout
    assert "0.7500" in said  # the value, with what stands around it
    assert "the dog ate it" in bench("show", ids["failed"]).stdout
    sealed = bench("show", ids["sealed"]).stdout
    assert "repeat  bench run --replay leaderboards/records/cola.minilm.b.rss.s0." in sealed
    assert "salt abc" in sealed
    assert "repeat  bench utility --defense none --dataset sst2" in bench("show", ids["utility"]).stdout


def test_show_takes_files_and_folders_and_explains_what_it_cannot_find(
    bench: Run, ids: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "home" / "leaderboards" / "records"
    path = next(folder.glob("*dp-ie*"))
    assert bench("show", str(path)).returncode == 0
    assert bench("show", ids["good"], "--results", str(folder)).returncode == 0
    wrong = bench("show", ids["good"][:-1] + "x")
    assert wrong.returncode == 2
    assert f"the closest are {ids['good']}" in wrong.stderr
    unclear = bench("show", "")
    assert unclear.returncode == 2
    write_records(folder, attack_record("c", id=ids["good"][:-1] + "x"))
    both = bench("show", ids["good"][:-1])
    assert both.returncode == 2
    assert "give more of the id" in both.stderr
    assert "no records in nowhere" in bench("show", "abc", "--results", "nowhere").stderr
    assert "no such file" in bench("show", "gone.json").stderr
    (folder / "half.json").write_text("{")
    assert bench("show", str(folder / "half.json")).returncode == 2
    for name, changes in {"bare": {"protocol": None}, "flat": {"metrics": {"recall": 0.5}}}.items():
        done = bench("show", str(write_damaged(folder, name, attack_record("x"), **changes)))
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert f"{name}.json: {next(iter(changes))}" in done.stderr
