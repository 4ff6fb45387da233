"""The figures: there where the board has their numbers, absent where not, and safe from what records say."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from bench.board.model import AuditRow, Board, BoardCell
from bench.board.render import figures, leakage_utility
from bench.board.render.plotting import label_points, one_line, rendered, short_label, spread_out
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


def test_audits_tell_calibrations_apart_and_their_axes_are_plain_numbers() -> None:
    def row(defense: str, audited: float) -> AuditRow:
        about: dict[str, Any] = {
            "dataset": "sst2",
            "encoder": "minilm",
            "protocol": "pair",
            "command": "",
            "delta": 1e-5,
        }
        counts: dict[str, Any] = {"verdicts": {}, "seeds": [0], "ids": ["a"], "ceiling": 8.6}
        return AuditRow(defense=defense, claimed=1.0, actual=4.0, audited=audited, **about, **counts)

    rows = [row("dp-ie-gaussian", 3.0), row("dp-ie-gaussian:calibration=sound", 0.5), row("release-once", 0.0)]
    board = Board(records=0, suites={}, cells=[], defenses=[], audits=rows)
    svg = figures.draw(board)["pictures/audits.svg"]
    assert isinstance(svg, bytes)
    for text in (
        "dp-ie-gaussian, paper calibration",
        "dp-ie-gaussian, sound calibration",
        "release-once",
        "<!-- 10 -->",
    ):
        assert text.encode() in svg
    assert b"$" not in svg


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
    assert leakage_utility.distinct_labels(some) == ["gaussian ε=8", "laplace ε=8", "m=inf", "none"]


def test_points_that_lie_on_each_other_share_a_label() -> None:
    spots, said = leakage_utility.merge_labels(
        [(0.5, 0.0), (0.7, 1.0), (0.501, 0.03), (0.7, 0.95)], ["a", "b", "c", "d"]
    )
    assert (spots, said) == ([(0.5, 0.0), (0.7, 1.0), (0.7, 0.95)], ["a; c", "b", "d"])
    assert leakage_utility.merge_labels([(0.0, 0.0)] * 5, list("abcde"))[1] == ["a; b; 3 more"]


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


def test_a_panel_of_level_curves_is_a_line_of_words() -> None:
    board = synthetic_board(datasets=("cola",))
    moving = figures.draw(board)["pictures/success-epsilon.svg"]
    still = [cell.replace(value=0.001) if "gaussian" in cell.defense else cell for cell in board.cells]
    told = figures.draw(board.replace(cells=still))["pictures/success-epsilon.svg"]
    assert isinstance(moving, bytes)
    assert isinstance(told, bytes)
    assert b"finds at most" not in moving
    assert b"cola, minilm: dp-ie-gaussian, paper calibration" in told
    assert b"finds at most 0.001" in told
    # Where all panels are level, they are drawn: a figure of words alone would be none.
    none = [cell.replace(value=0.001) if cell.value is not None else cell for cell in board.cells]
    drawn = figures.draw(board.replace(cells=none))["pictures/success-epsilon.svg"]
    assert isinstance(drawn, bytes)
    assert b"finds at most" not in drawn


def test_a_curve_is_level_within_its_own_protocol_only() -> None:
    some = synthetic_board(datasets=("cola",)).cells[0]
    two = [(0.0, some.replace(protocol="a", value=0.1)), (1.0, some.replace(protocol="b", value=0.9))]
    assert figures.is_level(two)
    assert not figures.is_level([*two, (2.0, some.replace(protocol="b", value=0.2))])


def test_utility_is_not_drawn_where_the_undefended_model_learns_nothing_nor_of_defenses_beyond_main() -> None:
    board = synthetic_board(datasets=("cola", "sst2"))
    assert leakage_utility.draw(board) is not None

    def with_level(gain: float) -> Board:
        rows = []
        for row in board.defenses:
            levels = {
                name: one._replace(undefended=(one.majority or 0) + gain) for name, one in (row.utility or {}).items()
            }
            rows.append(row.replace(utility=levels or None))
        return board.replace(defenses=rows)

    assert leakage_utility.draw(with_level(0.2)) is not None
    assert leakage_utility.draw(with_level(0.02)) is None
    other = [row.replace(suite="smoke") if "gaussian" in row.defense else row for row in board.defenses]
    drawn = leakage_utility.draw(board.replace(defenses=other))
    assert drawn is not None
    assert b"dp-ie-laplace" in drawn["svg"]
    assert b"dp-ie-gaussian" not in drawn["svg"]


def test_a_label_lies_on_no_mark_and_on_no_bar() -> None:
    boxes: list[tuple[float, float, float, float]] = []
    marks = [(0.5 + 0.05 * i, 0.5) for i in range(6)]

    def put(figure: Any) -> None:
        axis = figure.subplots()
        axis.set(xlim=(0, 1), ylim=(0, 1))
        label_points(axis, marks[:1], ["a label of some length"], marks, [(0.2, 0.9, 0.5)])
        figure.canvas.draw()
        (text,) = axis.texts
        boxes.append(text.get_window_extent().transformed(axis.transData.inverted()).extents)

    rendered(put, 4, 3)
    left, low, right, high = boxes[0]
    assert not low <= 0.5 <= high
    assert left < right
