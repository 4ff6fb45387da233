"""What is said of a user's own data before a run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.scheduling.own_data import labels
from bench.types import Examples
from tests.helpers.cli import PLUGINS

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_rows_and_classes_of_a_file_stand_above_its_run(bench: Run, tmp_path: Path, warm_cache: None) -> None:
    rows = [f"sentence number {i};{('good', 'Good', 'bad')[i % 3]}\n" for i in range(19)]
    (tmp_path / "mine.csv").write_text("text;label\n" + "".join(rows))
    about = ("--defense", "none", "--attack", "rss", "--encoder", "toy", "--plugin", str(PLUGINS / "toy.py"))
    done = bench("run", *about, "--dataset", f"file:{tmp_path}/mine.csv", "--examples", "5", "--candidates", "10")
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert sum("'Good' and 'good' are different classes" in line for line in said) == 1
    assert any("19 rows to train on, 3 classes: 'Good' (6), 'bad' (6), 'good' (7)" in line for line in said)
    again = bench("run", *about, "--dataset", "demo", "--examples", "5", "--candidates", "10")
    assert "rows to train on" not in again.stderr  # of the project's own data everybody knows


def test_many_classes_are_counted_and_scores_have_a_range() -> None:
    many = Examples([str(i) for i in range(12)], list(range(12)), [f"class {i}" for i in range(12)])
    assert labels(many).startswith(", 12 classes: 'class 0' (1), ")
    assert labels(many).endswith("'class 7' (1) and 4 more")
    assert labels(Examples(["a", "b"], [0.5, 4.0])) == ", scores from 0.5 to 4"


def test_a_dry_run_says_it_too_and_shows_no_empty_table(bench: Run, tmp_path: Path) -> None:
    about = ("run", "--defense", "none", "--attack", "rss", "--encoder", "toy", "--plugin", str(PLUGINS / "toy.py"))
    (tmp_path / "mine.csv").write_text("text,label\n" + "".join(f"number {i},{i % 2}\n" for i in range(19)))
    (tmp_path / "empty.csv").write_text("")
    done = bench(*about, "--dataset", f"file:{tmp_path}/mine.csv", "--dry-run")
    assert "19 rows to train on, 2 classes" in done.stderr
    done = bench(*about, "--dataset", f"file:{tmp_path}/empty.csv", "--dry-run")
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["0 in all, none to run"]
    assert "is empty" in done.stderr
