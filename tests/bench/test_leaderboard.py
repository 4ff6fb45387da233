from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import leaderboard
from bench.errors import BenchError
from tests.conftest import PLUGINS, TINY

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def results(bench: Run, tmp_path: Path) -> Path:
    args = ("--defense", "none", "--defense", "texthide", "--attack", "rss", "--attack", "raises", "--seed", "0", "1")
    done = bench("run", *args, *TINY, "--plugin", str(PLUGINS / "hostile.py"))
    assert done.returncode == 1
    return tmp_path / "home" / "results"


def test_tables_show_every_cell_and_count_the_failed(bench: Run, results: Path, tmp_path: Path) -> None:
    done = bench("leaderboard", "--out", "board")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "home" / "board" / "leaderboard.md").read_text()
    (line,) = (row for row in text.splitlines() if row.startswith("| none |  | rss |"))
    assert "corpus, encodings" in line
    assert "| 2 |" in line
    assert "| 1.000 [0.9" in line
    assert "| none |  | raises | corpus, encodings | 40 × 1, 120 candidates |" in text
    assert "2, 2 failed" in text
    assert "the dog ate it" in text
    rows = list(csv.DictReader((tmp_path / "home" / "board" / "leaderboard.csv").open()))
    assert len(rows) == 8
    ids = {json.loads(p.read_text())["id"] for p in results.glob("*.json")}
    assert {row["id"] for row in rows} == ids
    assert {row["status"] for row in rows} == {"ok", "failed"}


def test_check_notices_tables_that_are_not_what_the_records_say(bench: Run, results: Path, tmp_path: Path) -> None:
    board = tmp_path / "home" / "board"
    assert bench("leaderboard", "--out", "board", "--check").returncode == 1
    bench("leaderboard", "--out", "board")
    assert bench("leaderboard", "--out", "board", "--check").returncode == 0
    before = {p.name: p.read_bytes() for p in board.iterdir()}
    shutil.rmtree(board)
    bench("leaderboard", "--out", "board")
    assert {p.name: p.read_bytes() for p in board.iterdir()} == before
    (board / "leaderboard.md").write_text("by hand")
    done = bench("leaderboard", "--out", "board", "--check")
    assert done.returncode == 1
    assert "leaderboard.md is not what the records say" in done.stderr


def test_no_records_is_explained(bench: Run, tmp_path: Path) -> None:
    done = bench("leaderboard", "--results", "nowhere")
    assert done.returncode == 1
    assert "nowhere: no such folder; run some cells first" in done.stderr
    with pytest.raises(BenchError, match="no records"):
        leaderboard.build([])


def test_other_protocols_are_other_rows_and_newer_records_supersede(results: Path) -> None:
    first = json.loads(next(results.glob("*none.rss.s0*.json")).read_text())
    half = {**first, "id": "b", "protocol": {**first["protocol"], "coverage": 0.5}}
    newer = {**first, "id": "c", "cost": {**first["cost"], "ended": "9999"}}
    table = leaderboard.build([newer, half, first])
    rows = [row for row in table["leaderboard.md"].splitlines() if row.startswith("| none |")]
    assert len(rows) == 2
    assert sum("coverage 0.5" in row for row in rows) == 1
    assert {row["id"] for row in csv.DictReader(table["leaderboard.csv"].splitlines())} == {"b", "c"}


def test_seeds_are_pooled_as_independent_draws() -> None:
    metric = {"value": 0.5, "low": 0.4, "high": 0.7, "random": 0.1}
    mean, low, high, random = leaderboard.pooled([metric] * 4)
    assert (mean, low, high, random) == pytest.approx((0.5, 0.45, 0.6, 0.1))
