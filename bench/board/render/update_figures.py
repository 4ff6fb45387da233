"""What updates give away: sentences named against the size of the batch, and against noise on the update."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from bench.board.model import Board, BoardCell
from bench.board.render.plotting import Curve, curves, grid, leak, number, one_line, places, rendered, styles
from bench.plugins.labels import parse_label

_BATCH = re.compile(r"in batches of (\d+)(?:, (.*))?")
Found = dict[str, dict[float, BoardCell]]
"""cells by the name of their line and their place on the axis"""


def draw(board: Board) -> dict[str, bytes] | None:
    cells = [cell for cell in board.cells if "updates" in cell.sees and leak(cell) is not None]
    panels: list[tuple[tuple[str, str], str, Found]] = []
    for place in places(cells, 1):
        here = [cell for cell in cells if cell.place == place]
        for xlabel, found in (by_batch(here), by_noise(here)):
            if len({x for line in found.values() for x in line}) > 1:
                panels.append((place, xlabel, found))
    if not panels:
        return None
    look = styles(name for _, _, found in panels for name in found)

    def put(figure: Any) -> None:
        for (place, xlabel, found), axis in zip(panels, grid(figure, len(panels), len(panels)), strict=True):
            steps = sorted({x for line in found.values() for x in line})
            lines = [
                Curve(
                    name, look[name], [(float(steps.index(x)), leak(cell) or 0.0) for x, cell in sorted(line.items())]
                )
                for name, line in sorted(found.items())
            ]
            curves(axis, len(steps), lines)
            axis.set_xticks(range(len(steps)), [_tick(x, found) for x in steps])
            axis.set(xlabel=xlabel, ylabel="sentences named exactly")
            axis.set_title(one_line(", ".join(place), 60))

    return rendered(put, 4.6 * len(panels), 2.7)


def by_batch(cells: list[BoardCell]) -> tuple[str, Found]:
    """Of each attack on the defense that was measured with most sizes, with what else was said of the update."""
    sizes: dict[str, set[str]] = defaultdict(set)
    for cell in cells:
        if (size := _BATCH.search(cell.protocol)) and _noise(cell) is None:
            sizes[cell.defense].add(size[1])
    shown = min(sizes, key=lambda defense: (-len(sizes[defense]), defense), default="")

    def line(cell: BoardCell) -> tuple[str, float] | None:
        size = _BATCH.search(cell.protocol)
        if not size or cell.defense != shown:
            return None
        return f"{cell.attack}{', ' + size[2] if size[2] else ''}", float(size[1])

    return f"{one_line(shown, 40)}: sentences in the batch", _lines(cells, line)


def by_noise(cells: list[BoardCell]) -> tuple[str, Found]:
    """Of each attack on an update with noise, whatever else hides it; where two cells meet, the stronger one."""

    def line(cell: BoardCell) -> tuple[str, float] | None:
        noise = _noise(cell)
        return None if noise is None else (cell.attack, noise)

    return "noise on the update, in units of the clipping bound", _lines(cells, line)


def _noise(cell: BoardCell) -> float | None:
    return number(parse_label(cell.defense)[1].get("noise"))


def _lines(cells: list[BoardCell], line: Callable[[BoardCell], tuple[str, float] | None]) -> Found:
    found: Found = defaultdict(dict)
    for cell in sorted(cells, key=lambda cell: leak(cell) or 0.0):
        if at := line(cell):
            found[at[0]][at[1]] = cell
    return dict(found)


def _tick(x: float, found: Found) -> str:
    """A place on the axis and, where noise gives one, the ε that is accounted."""
    spent = [line[x].epsilon for line in found.values() if x in line]
    known = next((each.accounted for each in spent if each and each.accounted is not None), None)
    if known is None:
        return f"{x:g}"
    return f"{x:g}\nε = {known:.0f}" if known < 1e4 else f"{x:g}\nε = {known:.0e}"
