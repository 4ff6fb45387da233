"""The figures: there where the board has their numbers, absent where not, and safe from what records say."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from bench.board.model import Board, BoardCell
from bench.board.render import figures
from bench.board.render.plotting import one_line, short_label, spread_out
from bench.plugins.labels import parse_label
from tests.helpers.synthetic_board import HOSTILE_TEXT, hostile_board, synthetic_board

NAMES = {"leakage-utility", "success-epsilon", "recall-mk", "heatmap", "reconstructions"}


@pytest.fixture(scope="module")
def drawn() -> dict[str, Any]:
    return figures.draw(hostile_board())


def test_every_picture_is_there_twice_and_whole_whatever_the_labels_say(drawn: dict[str, Any]) -> None:
    assert set(drawn) == {f"pictures/{name}.{ending}" for name in NAMES for ending in ("svg", "png")}
    for name, content in drawn.items():
        if name.endswith("svg"):
            root = ET.fromstring(content)
            assert root.tag.endswith("svg")
            assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
            assert b"<dc:date>" not in content
        else:
            assert content.startswith(b"\x89PNG")
            assert b"matplotlib" not in content.lower()


def test_a_picture_without_numbers_is_left_out() -> None:
    board = synthetic_board(datasets=("cola",))
    cells = [c.replace(samples=[]) for c in board.cells if c.defense == "none"]
    board = board.replace(cells=cells, defenses=[d.replace(utility=None) for d in board.defenses])
    assert set(figures.draw(board)) == {"pictures/heatmap.svg", "pictures/heatmap.png"}
    assert figures.draw(Board(records=0, suites={}, cells=[], defenses=[])) == {}


def test_labels_keep_their_distance_and_their_order() -> None:
    found = spread_out([0.5, 0.0, 0.01, 0.02, 1.0], 0.1)
    assert found[0] == 0.5
    assert found[4] == 1.0
    heights = [found[1], found[2], found[3]]
    assert all(b - a == pytest.approx(0.1) for a, b in itertools.pairwise(heights))
    assert sum(heights) == pytest.approx(0.03)
    assert spread_out([0.0, 0.01, 0.5], 0.1, floor=0.0) == pytest.approx([0.0, 0.1, 0.5])


def test_points_of_two_families_are_told_spread_out() -> None:
    some = ["dp-ie-gaussian:epsilon=8.0", "dp-ie-laplace:epsilon=8.0", "texthide:m=inf", "none"]
    assert figures.distinct_labels(some) == ["gaussian ε=8", "laplace ε=8", "m=inf", "none"]


def test_points_that_lie_on_each_other_share_a_label() -> None:
    spots, said = figures.merge_labels([(0.5, 0.0), (0.7, 1.0), (0.501, 0.03), (0.7, 0.95)], ["a", "b", "c", "d"])
    assert (spots, said) == ([(0.5, 0.0), (0.7, 1.0), (0.7, 0.95)], ["a; c", "b", "d"])
    assert figures.merge_labels([(0.0, 0.0)] * 5, list("abcde"))[1] == ["a; b; 3 more"]


def test_a_cell_that_failed_is_not_white_and_one_that_failed_in_part_says_so() -> None:
    board = synthetic_board(datasets=("cola",))
    one, other = [c for c in board.cells if "main" in c.suites][:2]
    lost = {"seed": 0, "id": "a", "status": "timeout", "error": "too slow"}
    one = one.replace(value=None, failed=[lost], seeds=[0], marks=["failed"])
    other = other.replace(value=0.5, failed=[lost], seeds=[0, 1, 2], marks=["failed"])
    drawn = figures.draw(board.replace(cells=[one, other]))["pictures/heatmap.svg"]
    assert isinstance(drawn, bytes)
    assert b"failed \xe2\x9c\x971/1" in drawn
    assert b"0.500 \xe2\x9c\x971/3" in drawn
    assert b"runs that failed" in drawn
    assert b"<pattern" in drawn


def test_labels_are_read_with_the_defaults_that_they_leave_out() -> None:
    assert parse_label("texthide:k=8")[1]["m"] == "256"
    assert parse_label("somebody-elses:m=2") == ("somebody-elses", {"m": "2"})
    assert short_label("dp-ie-gaussian:epsilon=8.0,k=2") == "ε=8, k=2"
    assert short_label("none") == "none"
    assert "\x07" not in one_line(HOSTILE_TEXT)
    assert one_line("a" * 300, 10) == "a" * 9 + "…"


def test_the_epsilon_that_holds_is_a_range_where_attacks_see_more_or_less() -> None:
    assert figures.epsilon_range([144.2, 13.63, 13.63]) == "13.6–144"
    assert figures.epsilon_range([2943.0, 108123.4]) == "2.94k–108k"
    assert [figures.short_number(v) for v in (999.6, 999_999, 0.1, 100)] == ["1k", "1M", "0.1", "100"]
    assert figures.epsilon_range([0.5, 0.5]) == "0.5"


def test_of_attacks_that_find_as_much_the_one_whose_answers_can_be_shown() -> None:
    board = synthetic_board(datasets=("cola",))
    some = [
        cell.replace(value=1.0, samples=[{"example": "quite so", "answer": answer, "right": True, "jaccard": 0.1}])
        for cell, answer in zip([c for c in board.cells if c.defense == "none"], ("quite so", None), strict=False)
    ]
    drawn = figures.draw(board.replace(cells=some[::-1]))["pictures/reconstructions.svg"]
    assert isinstance(drawn, bytes)
    assert b"not shown" not in drawn
    assert b"quite so" in drawn
    hidden = figures.draw(board.replace(cells=some[1:]))["pictures/reconstructions.svg"]
    assert isinstance(hidden, bytes)
    assert b"another sentence of the same mix, not shown" in hidden


def test_a_line_is_of_one_protocol_and_of_more_than_one_point() -> None:
    some = synthetic_board(datasets=("cola",)).cells[0]

    def cell(attack: str, protocol: str, value: float) -> BoardCell:
        return some.replace(attack=attack, protocol=protocol, value=value)

    look: dict[str, dict[str, Any]] = {"rss": {}, "dlg": {}}

    def lines(found: list[tuple[float, BoardCell]]) -> dict[str, list[tuple[float, float]]]:
        return {line.name: line.points for line in figures.protocol_curves(found, look)}

    whole = [(float(x), cell("rss", "1000 × 1", value)) for x, value in enumerate((0.3, 0.2, 0.1))]
    few = [(1.0, cell("rss", "1000 × 1, 10000 candidates", 0.9)), (2.0, cell("dlg", "50 × 1", 0.5))]
    expected = {"rss": [(0.0, 0.3), (1.0, 0.2), (2.0, 0.1)]}
    assert lines([*few, *whole]) == expected
    assert lines(few[1:]) == {"dlg": [(2.0, 0.5)]}
    # Where another protocol goes further, what it found there is in the picture, under its own name.
    further = [*few, (3.0, cell("rss", "1000 × 1, 10000 candidates", 1.0))]
    assert lines([*further, *whole]) == {**expected, "rss, 10000 candidates": [(1.0, 0.9), (3.0, 1.0)]}
