"""What the leaderboard's figures share: one style, the same bytes every time, and labels that do not overlap.

Black on white; attacks differ by marker and line, values by number, so that nothing is lost without colour.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from bench.board.model import Board, BoardCell
from bench.board.pooling import LEAKS

STYLE = {
    # The font that matplotlib brings along: others depend on the machine.
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 0.9,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.4,
    # Labels come from records, and a dollar sign there is not a formula.
    "text.parse_math": False,
    # Names inside an SVG come from a hash; salted with the time, they would change with every run.
    "svg.hashsalt": "hideseek",
}
MARKERS = "os^DvPX*<>ph"
LINES = ("-", "--", "-.", ":")
# Panels of a figure, and the inches that a line of words below them takes.
PANELS, LINE = 4, 0.17


def rendered(draw: Callable[[Any], None], width: float, height: float) -> dict[str, bytes]:
    """File ending → bytes of what `draw` puts on a figure of that many inches."""
    import matplotlib
    from matplotlib import style
    from matplotlib.figure import Figure

    made = {}
    with matplotlib.rc_context(), style.context(["default", STYLE]):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        fix_layout(figure)
        for ending, about in (("svg", {"Date": None}), ("png", {"Software": None})):
            out = io.BytesIO()
            figure.savefig(out, format=ending, dpi=160, metadata=about)
            made[ending] = out.getvalue()
    return made


def one_line(text: str, most: int = 200) -> str:
    """Text from a record as a figure can show it: one line, no characters that XML or a font cannot hold."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", " ", text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def short_label(label: str) -> str:
    """`dp-ie-gaussian:epsilon=8.0` → `ε=8`; a name without options stays."""
    name, _, rest = label.partition(":")
    return one_line(re.sub(r"(\d)\.0\b", r"\1", rest.replace("epsilon=", "ε=")).replace(",", ", ") or name, 40)


def leak(cell: BoardCell) -> float | None:
    """The share of what is private that was found; None where the attack failed or is scored by something else."""
    return cell.value if cell.metric in LEAKS else None


def number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def styles(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Name → marker and line; the same for a name in every figure of a board."""
    ordered = sorted(set(names))
    return {
        name: {"marker": MARKERS[i % len(MARKERS)], "linestyle": LINES[i % len(LINES)], "color": "black"}
        for i, name in enumerate(ordered)
    }


def spread_out(wanted: Sequence[float], gap: float, floor: float = -math.inf) -> list[float]:
    """Heights near the wanted ones, in their order, with at least `gap` between neighbours, and none below `floor`."""
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    # Blocks of labels that touch, each around the mean of what its members want.
    blocks: list[list[int]] = []
    for i in order:
        blocks.append([i])
        while (
            len(blocks) > 1
            and _middle(blocks[-1], wanted) - _middle(blocks[-2], wanted)
            < gap * (len(blocks[-1]) + len(blocks[-2])) / 2
        ):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    found = [0.0] * len(wanted)
    for block in blocks:
        start = _middle(block, wanted) - gap * (len(block) - 1) / 2
        for place, i in enumerate(block):
            found[i] = start + gap * place
    for i in order:
        found[i] = max(found[i], floor)
        floor = found[i] + gap
    return found


def _middle(block: Sequence[int], wanted: Sequence[float]) -> float:
    return sum(wanted[i] for i in block) / len(block)


def fix_layout(figure: Any) -> None:
    """Lay the axes out, once: what is drawn afterwards goes by where they are."""
    if engine := figure.get_layout_engine():
        engine.execute(figure)
        figure.set_layout_engine("none")


class Curve(NamedTuple):
    """Points, their style, and the name at the right end."""

    name: str
    style: dict[str, Any]
    points: list[tuple[float, float]]


def plain_log(side: Any) -> None:
    """Labels of a logarithmic axis as plain numbers: its own are formulas, which the style does not read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    side.set_major_locator(LogLocator(subs=(1, 2, 5)))
    side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    side.set_minor_formatter(NullFormatter())


def curves(axis: Any, steps: int, lines: Sequence[Curve]) -> None:
    """Lines of values between 0 and 1 over so many steps, each named at its right end."""
    for line in lines:
        axis.plot(*zip(*line.points, strict=True), **line.style, markerfacecolor="white", clip_on=False, zorder=3)
    side = 0.05 * (steps - 1)
    edge = steps - 1 + 2 * side
    heights = spread_out([line.points[-1][1] for line in lines], 0.085, floor=0.0)
    for line, height in zip(lines, heights, strict=True):
        x, y = line.points[-1]
        axis.plot([x + side / 2, edge], [y, height], lw=0.4, color="0.6", clip_on=False, zorder=1)
        axis.text(edge + side / 4, height, one_line(line.name, 32), va="center", fontsize=7)
    axis.set(xlim=(-side, steps - 1 + side), ylim=(-0.04, 1.04), yticks=[0, 0.5, 1])


Box = tuple[float, float, float, float]


def label_points(
    axis: Any,
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    marks: Sequence[tuple[float, float]] = (),
    bars: Sequence[tuple[float, float, float]] = (),
) -> None:
    """A label beside every point, at the nearest place around it where no other label, no mark and no bar lies.

    `marks` are further points without a label, `bars` are left, right and height. To be called when everything else is
    drawn: it goes by where things have come to lie.
    """
    pixel = axis.figure.dpi / 72
    at = axis.transData.transform
    spots = [(float(x), float(y)) for x, y in at(points)]
    others = [(float(x), float(y)) for x, y in at(marks)] if len(marks) else []
    taken: list[Box] = [(x - 3 * pixel, y - 3 * pixel, x + 3 * pixel, y + 3 * pixel) for x, y in [*spots, *others]]
    for left, right, height in bars:
        (from_x, y), (to_x, _) = at([(left, height), (right, height)])
        taken.append((float(from_x), float(y) - pixel, float(to_x), float(y) + pixel))
    frame = axis.get_window_extent()
    order = sorted(range(len(points)), key=lambda i: (-points[i][1], points[i][0], texts[i]))
    for i in order:
        box = _free(spots[i], (4.4 * len(texts[i]) + 5) * pixel, 8.5 * pixel, pixel, taken, (*frame.p0, *frame.p1))
        taken.append(box)
        left, middle = (box[0] - spots[i][0]) / pixel, ((box[1] + box[3]) / 2 - spots[i][1]) / pixel
        right = (box[2] - spots[i][0]) / pixel
        away = math.hypot(0.0 if left < 0 < right else min(abs(left), abs(right)), middle)
        line = {"arrowstyle": "-", "lw": 0.4, "color": "0.5", "shrinkA": 0, "shrinkB": 3}
        axis.annotate(
            texts[i], points[i], xytext=(right if right < 0 else left, middle), textcoords="offset points", va="center",
            ha="right" if right < 0 else "left", fontsize=6.5,
            arrowprops=line if away > 9 else None, annotation_clip=False,
        )  # fmt: skip


def _free(spot: tuple[float, float], wide: float, high: float, pixel: float, taken: list[Box], frame: Box) -> Box:
    """The first box of this size, on circles around the spot, that lies inside the frame and on nothing else."""
    boxes: list[Box] = []
    for far in range(6, 90, 6):
        for turn in range(16):
            angle = math.pi * turn / 8
            left = spot[0] + far * math.cos(angle) * pixel - (wide if math.cos(angle) < -0.01 else 0)
            low = spot[1] + far * math.sin(angle) * pixel - high / 2
            boxes.append((left, low, left + wide, low + high))
    inside = (b for b in boxes if frame[0] <= b[0] and frame[1] <= b[1] and b[2] <= frame[2] and b[3] <= frame[3])
    free = (b for b in inside if not any(b[0] < t[2] and t[0] < b[2] and b[1] < t[3] and t[1] < b[3] for t in taken))
    return next(free, boxes[0])


def grid(figure: Any, panels: int, across: int) -> list[Any]:
    """As many axes as panels, row by row."""
    rows = -(-panels // across)
    axes = figure.subplots(rows, across, squeeze=False).ravel()
    for axis in axes[panels:]:
        axis.remove()
    return list(axes[:panels])


def tell(figure: Any, lines: Sequence[str]) -> None:
    """What is as good as level, in words below the panels."""
    if lines:
        figure.supxlabel("\n".join(one_line(line, 130) for line in lines), fontsize=7, x=0.01, ha="left")


class Placed(Protocol):
    @property
    def place(self) -> tuple[str, str]: ...


def places(rows: Iterable[Placed], most: int) -> list[tuple[str, str]]:
    """Data sets with their encoders, those with the most rows first."""
    counts = Counter(row.place for row in rows)
    return sorted(counts, key=lambda place: (-counts[place], place))[:most]


def main_suite(board: Board) -> str | None:
    """The suite that figures of "the board" show."""
    names = list(board.suites)
    return "main" if "main" in names else (names[0] if names else None)
