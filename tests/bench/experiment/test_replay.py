"""A replay repeats attacks and training runs, and names every number that differs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.experiment.replay import open_record
from tests.helpers.cli import PLUGINS, TINY

Run = Callable[..., subprocess.CompletedProcess[str]]
TOY = ("--plugin", str(PLUGINS / "toy.py"))


def test_an_attack_and_a_training_run_come_out_again(bench: Run, tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "out"))
    assert bench("run", "--defense", "mix-only", "--attack", "rss", *TINY, *out).returncode == 0
    trained = bench("utility", "--defense", "none", "--encoder", "toy", "--train-epochs", "1", *TOY, *out)
    assert trained.returncode == 0, trained.stderr
    for folder in (tmp_path / "out", tmp_path / "out" / "utility"):
        (path,) = folder.glob("*.json")
        done = bench("run", "--replay", str(path), *TOY, "--json")
        assert done.returncode == 0, done.stderr
        assert "the same numbers" in done.stderr
        record = json.loads(path.read_text())
        name = next(iter(record["metrics"]))
        record["metrics"][name] = 0.123 if folder.name == "utility" else {"value": 0.123}
        path.write_text(json.dumps(record))
        done = bench("run", "--replay", str(path), *TOY, "--json")
        assert done.returncode == 1
        assert f"metrics.{name}" in done.stderr
        assert "0.123 on record" in done.stderr


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2}'])
def test_what_is_no_record_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    with pytest.raises(UsageError, match="no such file"):
        open_record(path)
    path.write_text(text)
    with pytest.raises(UsageError, match=r"--replay .*odd\.json"):
        open_record(path)
