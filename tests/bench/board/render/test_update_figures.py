"""Leak against the size of a batch and against noise on the update."""

from __future__ import annotations

from bench.board.model import BoardCell, Epsilon
from bench.board.render import update_figures
from tests.helpers.synthetic_board import synthetic_board


def cell(defense: str, batch: str, value: float, attack: str = "span", epsilon: float | None = None) -> BoardCell:
    one = synthetic_board(datasets=("cola",)).cells[0]
    spent = None if epsilon is None else Epsilon(nominal=epsilon, accounted=epsilon)
    about = {"defense": defense, "attack": attack, "protocol": f"64 in batches of {batch}", "sees": ["updates"]}
    return one.replace(**about, metric="exact", value=value, epsilon=spent)


CELLS = [
    *(cell("texthide", "8", 1.0), cell("texthide", "32", 0.9), cell("texthide", "32, dropout=0.4", 0.8)),
    *(cell("none", "16", 0.7), cell("dp-sgd:of=texthide,noise=0.01", "8", 0.5, epsilon=323410.9)),
    *(cell("dp-sgd:of=texthide", "8", 0.0, epsilon=65.3), cell("dp-sgd:of=texthide", "8", 0.1, epsilon=65.3)),
]


def test_lines_are_of_one_attack_and_one_kind_of_update() -> None:
    label, lines = update_figures.by_batch(CELLS)
    assert label == "texthide: sentences in the batch"
    assert {name: [(x, c.value) for x, c in line.items()] for name, line in lines.items()} == {
        "span": [(32.0, 0.9), (8.0, 1.0)],
        "span, dropout=0.4": [(32.0, 0.8)],
    }


def test_noise_has_its_default_and_the_stronger_cell_counts() -> None:
    (line,) = update_figures.by_noise(CELLS)[1].values()
    assert {x: c.value for x, c in line.items()} == {0.01: 0.5, 1.0: 0.1}


def test_the_picture_says_what_noise_is_worth() -> None:
    board = synthetic_board(datasets=("cola",))
    made = update_figures.draw(board.replace(cells=CELLS))
    assert made is not None
    svg = made["svg"].decode()
    for words in ("sentences in the batch", "ε = 65", "ε = 3e+05", "span, dropout=0.4"):
        assert f"<!-- {words} -->" in svg or words in svg
    assert update_figures.draw(board) is None  # no cell of that board sees updates
