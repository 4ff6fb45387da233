"""Hostile inputs of every kind, some hundreds of each; the nightly fuzzing (fuzz.py) takes more. Every traceback is a
bug."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

from bench.board.render import csv
from tests.helpers.cli import PLUGINS, TINY
from tests.helpers.records import attack_record
from tests.hostile import payloads
from tests.hostile.targets import KINDS, call, workplace

Run = Callable[..., subprocess.CompletedProcess[str]]
# Inputs of each kind, in a few seconds.
MANY = {
    "weights": 10,
    "releases": 60,
    "commands": 40,
    "suites": 40,
    "records": 60,
    "other commands": 60,
    "environment": 60,
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_refused_or_taken_in_a_line(kind: str) -> None:
    strategy, target, _ = KINDS[kind]
    bounded = settings(
        max_examples=MANY.get(kind, 100), deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    with workplace():
        seed(21)(bounded(given(strategy)(target)))()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeout", "nan"], "--timeout nan"),
        (["--timeout", "inf"], "--timeout inf"),
        (["--timeout", "-1"], "--timeout -1"),
        (["--memory", str(10**15)], "--memory 1000000000000000"),
        (["--memory", "-1"], "--memory -1"),
        (["--device", ""], "--device "),
        (["--suite", "/proc/kmsg"], "leave out"),
        (["--dataset", "file:~nosuchuser/x"], "no such user"),
        (["--dataset", f"file:{'a' * 5000}"], "no file can have this name"),
        (["--out", "a" * 5000], "File name too long"),
    ],
)
def test_what_a_review_found_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench.cli.main import main

    monkeypatch.chdir(tmp_path)
    toy = ["--encoder", "toy", "--plugin", str(PLUGINS / "toy.py"), "--no-progress"]
    status = main(["run", "--defense", "none", "--attack", "rss", *toy, *words])
    error = capsys.readouterr().err
    assert status == (2 if words[0] in ("--timeout", "--memory", "--device", "--suite") else 1)
    assert said in error
    assert len(error.splitlines()) <= 2


def test_files_without_end_are_no_suites_and_no_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bench.cli.main import main

    for path in ("/proc/kmsg", "/proc/self/mem", "/proc/self/maps"):
        assert main(["run", "--suite", path]) == 2
        assert main(["show", path]) == 2
        assert main(["run", "--replay", path]) == 2
    assert "no ordinary file" in capsys.readouterr().err
    with workplace():
        assert call("plugin", "check", "rss", "--budget", "inf") == 2


def test_text_stays_text(tmp_path: Path) -> None:
    from bench.plugins.registry import Registry

    def texts(name: str, content: str, options: str = "") -> list[str]:
        (tmp_path / name).write_text(content)
        return list(Registry().make("dataset", f"file:{tmp_path / name}{options}").load("train").texts)

    assert texts("a.csv", "text,label\n007,1\n1e5,0\n") == ["007", "1e5"]
    assert texts("a.tsv", "text\tlabel\n007\t1\nTrue\t0\n") == ["007", "True"]
    assert texts("b.csv", "mine,label\n007,1\n0.50,0\n", ",text=mine") == ["007", "0.50"]
    assert texts("a.jsonl", '{"text": "007", "label": 1}\n{"text": "2020-01-01", "label": 0}\n') == [
        "007",
        "2020-01-01",
    ]


@pytest.mark.parametrize("label", ["[1, 2]", '{"a": 1}'])
def test_labels_are_words_or_numbers(tmp_path: Path, label: str) -> None:
    from bench.errors import DataError
    from bench.plugins.registry import Registry

    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "a", "label": {label}}}\n{{"text": "b", "label": {label}}}\n')
    with pytest.raises(DataError, match="a label is a word or a number"):
        Registry().make("dataset", f"file:{path}").load("train")


def test_cells_of_a_csv_file_are_no_formulas() -> None:
    from bench.board.record_columns import RecordLine

    def line(label: str) -> str:
        record = attack_record(leak=np.ones(4)).replace(attack={"name": label, "label": label, "sees": []})
        return csv.attacks([RecordLine(record)]).splitlines()[1]

    for label in ("=1+1", "+1", "-1", "@x", "\tx"):
        assert f"'{label}" in line(label)
    assert "'rss" not in line("rss")
    cosine = attack_record().replace(metrics={"cosine": {"value": -0.5, "low": -0.6, "high": -0.4}})
    assert ",-0.5," in csv.attacks([RecordLine(cosine)])


def test_a_damaged_record_of_the_right_id_is_run_again(bench: Run, tmp_path: Path) -> None:
    words = ("run", "--defense", "none", "--attack", "rss", *TINY)
    assert bench(*words).returncode == 0
    (path,) = (tmp_path / "home" / "results").glob("*.json")
    whole = path.read_text()
    for damaged in (
        whole[:500],
        whole.replace('"status": "ok"', '"status": 7'),
        whole.replace('"details": {}', f'"details": {{"a": {payloads.nested(50_000)}}}'),
        whole.replace('"seed": 0', '"seed": 1e299'),
        "\x00" * 100,
    ):
        path.write_text(damaged)
        for command in (
            ("show", str(path)),
            ("run", "--replay", str(path)),
            ("records", "verify"),
            (*words, "--dry-run"),
        ):
            done = bench(*command)
            assert "Traceback" not in done.stdout + done.stderr, command
        assert bench(*words, "--dry-run").returncode == 0
    assert bench(*words).returncode == 0
    assert "ok" in path.read_text()


@pytest.mark.slow
def test_weights_that_are_cut_fail_their_cells_with_several_workers_too(bench: Run, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_size": 8, "num_attention_heads": 1}')
    (folder / "model.safetensors").write_bytes(b"\x40\0\0\0\0\0\0\0{")
    sizes = ("--examples", "10", "--candidates", "20", "--seed", "0", "1")
    done = bench("run", "--defense", "none", "--attack", "rss", "--encoder", str(folder), *sizes, "--jobs", "2")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "before the attack" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1.7e308", "1e-320"])
def test_a_budget_that_no_accountant_can_hold_fails_its_cell(bench: Run, epsilon: str) -> None:
    for name in ("dp-ie-laplace", "dp-ie-gaussian"):
        done = bench("run", "--defense", f"{name}:epsilon={epsilon}", "--attack", "rss", *TINY)
        assert done.returncode in (0, 1)
        assert "Traceback" not in done.stderr
