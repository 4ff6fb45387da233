"""Columns: one entry shows a column in every kind of table, with its explanation."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from bench.board import columns, files, record_columns
from bench.board.columns import Column, legend, metric_legend, shown
from bench.board.marks import MARKS
from bench.board.render import page_data, suite_page
from bench.scoring.metrics import METRICS
from tests.helpers.records import attack_record, budget, utility_record
from tests.helpers.synthetic_board import synthetic_board

LEAK = np.arange(100) < 40
ALL = [
    *columns.DEFENSES, *columns.CELLS, *columns.UTILITY, *record_columns.RECORDS, *record_columns.RECORD_ENDS,
]  # fmt: skip


@pytest.mark.parametrize("column", ALL, ids=lambda c: c.key)
def test_every_column_is_explained_in_one_sentence(column: Column[object]) -> None:
    assert column.explanation
    assert not column.explanation.endswith(".")
    assert column.explanation[0].islower() or column.explanation.startswith("ε")


def test_every_mark_and_metric_is_explained() -> None:
    assert len(metric_legend(METRICS)) == len(METRICS)
    assert all(mark.explanation and mark.title for mark in MARKS)
    assert legend([], MARKS[:1], ["recall"])[0].startswith("≈ (at random level): no better than random guessing")


def test_a_table_leaves_out_optional_columns_without_a_value() -> None:
    rows = synthetic_board(datasets=("cola",)).defenses
    bare = [row.replace(epsilon=None, utility=None) for row in rows]
    assert [c.key for c in shown(columns.DEFENSES, rows)] == ["tier", "defense", "epsilon", "utility", "worst"]
    assert [c.key for c in shown(columns.DEFENSES, bare)] == ["tier", "defense", "worst"]


def test_a_board_explains_the_columns_marks_and_metrics_that_it_shows() -> None:
    made = files.build([attack_record("dp-ie-gaussian", leak=LEAK * 0, notes=budget(1.0, 27.1))])
    text = made["boards/adhoc.md"].decode()
    rows = text.partition("## Legend")[2]
    for said in (
        "tier: defenses that",
        "worst case: what the strongest",
        "≈ (at random level)",
        "recall: share of all",
    ):
        assert f"- {said}" in rows
    assert "ε claimed → actual: the privacy budget" in rows
    assert "↑" not in rows
    assert "mse" not in rows
    assert "\\item{} tier: defenses that" in made["boards/adhoc.tex"].decode()
    front = made["leaderboard.md"].decode()
    assert "- coverage: share of the private examples" in front
    assert "- superseded: records that" in front


def test_one_entry_shows_a_new_column_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Column("tries", "tries", "how many attacks were tried", lambda row: row.attacks, numeric=True)
    runs = Column("letters", "letters", "of the defense's name", lambda cell: len(cell.defense), str, numeric=True)
    for module in (columns, page_data, suite_page):
        monkeypatch.setattr(module, "DEFENSES", (*columns.DEFENSES[:2], count, *columns.DEFENSES[2:]))
    monkeypatch.setattr(page_data, "CELLS", (*columns.CELLS, runs))
    board = synthetic_board(datasets=("cola",))
    table = suite_page.matrix(board.defenses, board.cells)
    assert table.head[:3] == ["tier", "defense", "tries"]
    assert table.rows[1][2] == "1"
    made = page_data.packed(board)
    assert made["defenses"]["tries"] == {"all": 1}
    assert made["titles"]["flat"][-1] == {
        "key": "letters", "title": "letters", "explanation": "of the defense's name", "format": "text", "numeric": True,
    }  # fmt: skip
    assert "letters" in made["columns"]


def test_a_csv_has_a_column_for_each_part_of_each_metric() -> None:
    made = files.build([attack_record(leak=LEAK)], [utility_record("none", 0.9)])
    attacks = made["boards/adhoc.csv"].decode().splitlines()
    head = attacks[0].split(",")
    assert head[:7] == ["id", "status", "dataset", "encoder", "training", "attacker", "defense"]
    assert [name for name in head if name.startswith("recall_")] == [
        f"recall_{part}" for part in ("value", "low", "high", "random", "random_low", "random_high")
    ]
    (row,) = csv.DictReader(attacks)
    assert (float(row["recall_value"]), row["candidates"], row["coverage"]) == (0.4, "", "1.0")
    (row,) = csv.DictReader(made["boards/adhoc.utility.csv"].decode().splitlines())
    assert (row["accuracy"], row["accuracy_majority"], row["train_epochs"]) == ("0.9", "0.5", "5")
