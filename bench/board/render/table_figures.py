"""Figures that are tables: the board as a heat map with its numbers, and sentences beside an attack's answers."""

from __future__ import annotations

import textwrap
from typing import Any

from bench.board.model import Board, BoardCell
from bench.board.render.plotting import leak, main_suite, one_line, places, rendered
from bench.records.model import Sample

MOST_DEFENSES = 6
MOST_SAMPLES = 2
# Characters on a line of half the figure.
WIDTH = 64


def heatmap(board: Board) -> dict[str, bytes] | None:
    """Every defense against every attack of the main suite; the darker, the more leaks."""
    suite = main_suite(board)
    cells = [cell for cell in board.cells if suite is None or suite in cell.suites]
    panels = [(place, _matrix([c for c in cells if c.place == place])) for place in places(cells, 6)]
    if not panels:
        return None
    high = [0.23 * len(rows) + 0.75 for _, (rows, _, _) in panels]
    wide = max(2.6 + 0.72 * len(columns) for _, (_, columns, _) in panels)

    def put(figure: Any) -> None:
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=high)[:, 0]
        for axis, (place, (rows, columns, found)) in zip(axes, panels, strict=True):
            for y, row in enumerate(rows):
                for x, column in enumerate(columns):
                    _square(axis, x, y, found.get((row, column)))
            axis.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
            axis.set_xticks(
                [x + 0.5 for x in range(len(columns))], [one_line(c, 20).replace("-", "-\n", 1) for c in columns]
            )
            axis.set_yticks([y + 0.5 for y in range(len(rows))], [one_line(r, 44) for r in rows])
            axis.tick_params(length=0, labelsize=7, top=True, labeltop=True, bottom=False, labelbottom=False)
            for spine in axis.spines.values():
                spine.set_visible(False)
            axis.set_title(one_line(", ".join(place)), fontweight="bold", pad=8)
        not_run = any(len(rows) * len(columns) > len(found) for _, (rows, columns, found) in panels)
        words = "leak, as a mean over seeds    ≈ at random level" + "    hatched: not run" * not_run
        odd = any(leak(c) is None and c.value is not None for _, (_, _, found) in panels for c in found.values())
        words += "    in brackets: another metric, not ranked" * odd
        words += "    ✗: runs that failed" * any(c.failed for _, (_, _, found) in panels for c in found.values())
        figure.supxlabel(words, fontsize=7, x=0.02, ha="left")

    return rendered(put, wide, sum(high) + 0.3)


def _matrix(cells: list[BoardCell]) -> tuple[list[str], list[str], dict[tuple[str, str], BoardCell]]:
    """Defenses by their worst case, attacks by what they find in all, and the strongest cell of each pair."""
    found: dict[tuple[str, str], BoardCell] = {}
    for cell in cells:
        pair = (cell.defense, cell.attack)
        if pair not in found or (leak(cell) or 0) > (leak(found[pair]) or 0):
            found[pair] = cell
    leaks = {pair: leak(cell) or 0.0 for pair, cell in found.items()}
    worst = {d: max(v for pair, v in leaks.items() if pair[0] == d) for d, _ in found}
    reach = {a: sum(v for pair, v in leaks.items() if pair[1] == a) for _, a in found}
    rows = sorted(worst, key=lambda d: (worst[d], d))
    return rows, sorted(reach, key=lambda a: (-reach[a], a)), found


def _square(axis: Any, x: int, y: int, cell: BoardCell | None) -> None:
    from matplotlib.patches import Rectangle

    if cell is None:
        axis.add_patch(Rectangle((x, y), 1, 1, facecolor="white", hatch="////", edgecolor="0.8", linewidth=0))
        return
    value = leak(cell)
    # Up to a dark grey, not black: the steps near 1 stay visible.
    shade = 1 - 0.8 * min(max(value or 0.0, 0.0), 1.0)
    fill = "white" if value is None else str(shade)
    axis.add_patch(Rectangle((x, y), 1, 1, facecolor=fill, edgecolor="white", linewidth=1.0))
    lost = f" ✗{len(cell.failed)}/{len(cell.seeds)}" if cell.failed else ""
    if cell.value is None:
        # White is the colour of nothing found: a run that failed has not shown that.
        axis.add_patch(Rectangle((x, y), 1, 1, facecolor="none", hatch="xxx", edgecolor="0.8", linewidth=0))
        text = f"failed{lost}"
    elif value is None:
        text = f"({cell.value:.3g}){lost}"
    else:
        text = f"{'≈ ' if cell.at_random else ''}{value:.3f}{lost}"
    ink = "white" if shade < 0.5 else "black"
    axis.text(x + 0.5, y + 0.53, text, ha="center", va="center", fontsize=7, color=ink)


def reconstructions(board: Board) -> dict[str, bytes] | None:
    """Sentences, and what the strongest attack on each defense said that they were."""
    shown = [c for c in board.cells if c.samples and leak(c) is not None]
    if not shown:
        return None
    (place,) = places(shown, 1)
    # Of attacks that find as much, the one whose answers can be shown.
    telling = sorted(shown, key=lambda c: (c.value, sum(s.answer is not None for s in c.samples)))
    best = {cell.defense: cell for cell in telling if cell.place == place}
    blocks = _varied(best)
    lines = [_block(cell) for cell in blocks]
    step = 0.155
    high = sum(0.28 + step * sum(max(len(a), len(b)) + 0.35 for a, b in pairs) for _, pairs in lines) + 0.36

    def put(figure: Any) -> None:
        axis = figure.subplots()
        axis.set_axis_off()
        axis.set(xlim=(0, 1), ylim=(high, 0))
        axis.set_title(one_line(f"{place[0]}, {place[1]}: what was hidden, and what the strongest attack answered"))
        for x, head in ((0.0, "hidden sentence"), (0.51, "answer")):
            axis.text(x, 0.12, head, fontsize=7, color="0.35", va="top")
        y = 0.36
        for head, pairs in lines:
            axis.plot([0, 1], [y, y], lw=0.6, color="black", clip_on=False)
            axis.text(0, y + 0.07, head, fontsize=7.5, fontweight="bold", va="top")
            y += 0.28
            for left, right in pairs:
                for x, said in ((0.0, left), (0.51, right)):
                    axis.text(x, y, "\n".join(said), fontsize=7.5, va="top", linespacing=1.25)
                y += step * (max(len(left), len(right)) + 0.35)

    return rendered(put, 7.8, high + 0.3)


def _varied(best: dict[str, BoardCell]) -> list[BoardCell]:
    """A few defenses, one of each name before a second of any; those that leak least last."""
    names: dict[str, int] = {}
    turn = {}
    for label in sorted(best):
        name = label.partition(":")[0]
        turn[label] = names[name] = names.get(name, -1) + 1
    first = sorted(best, key=lambda label: (turn[label], label))[:MOST_DEFENSES]
    return sorted((best[label] for label in first), key=lambda cell: (-(leak(cell) or 0.0), cell.defense))


def _block(cell: BoardCell) -> tuple[str, list[tuple[list[str], list[str]]]]:
    head = f"{one_line(cell.defense, 60)}   {one_line(cell.attack, 40)}, {cell.metric} {cell.value:.3f}"
    return head, [_pair(sample) for sample in cell.samples[:MOST_SAMPLES]]


def _pair(sample: Sample) -> tuple[list[str], list[str]]:
    answer = sample.answer
    if answer is None:
        near = f" (words in common {sample.jaccard:.0%})" if sample.jaccard is not None else ""
        said = f"another sentence{' of the same mix' if sample.right else ''}, not shown{near}"
    else:
        said = one_line(answer)
    mark = "✓ " if sample.right else "✗ "
    return textwrap.wrap(one_line(sample.example), WIDTH) or [""], textwrap.wrap(mark + said, WIDTH)
