"""What is printed after a run."""

from __future__ import annotations

import copy

import pytest

from bench.cli import table


def _record(status: str = "ok") -> dict:
    return {
        "status": status,
        "dataset": {"label": "demo", "examples": 4, "candidates": 9},
        "encoder": {"label": "toy"},
        "defense": {"label": "none"},
        "attack": {"label": "rss"},
        "seed": 0,
        "metrics": {"recall": {"value": 0.5, "random": 0.1}} if status == "ok" else {},
        "cost": {"attack_s": 1.0},
        "error": None if status == "ok" else "it broke",
    }


def test_records_are_rows_and_failures_are_said_below(capsys: pytest.CaptureFixture[str]) -> None:
    table.show([_record(), _record("failed")])
    said = capsys.readouterr().out
    assert "0.500 (0.100)" in said
    assert said.rstrip().endswith("failed: none × rss: it broke")


def test_thousands_are_left_to_the_board(capsys: pytest.CaptureFixture[str]) -> None:
    table.show([*(copy.deepcopy(_record()) for _ in range(table.MOST)), _record("failed")])
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("301 records are too many for a table: bench leaderboard")
    assert last == "failed: none × rss: it broke"
