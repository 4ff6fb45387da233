"""The figure of leak against utility: what the worst attack finds against what the task still reaches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.board.model import Board, DefenseRow
from bench.board.render.plotting import (
    PANELS,
    fix_layout,
    grid,
    label_points,
    main_suite,
    one_line,
    places,
    rendered,
    short_label,
    styles,
)
from bench.plugins.labels import parse_label

# An undefended model that is not so much better than a constant answer has learnt nothing that a defense could cost.
LEARNT = 0.1


def draw(board: Board) -> dict[str, bytes] | None:
    """One point per defense of the main suite, one panel per setting in which the undefended model learns."""
    first = main_suite(board)
    listed = {entry.defense for entry in board.defenses if entry.suite == first}
    entries: dict[tuple[str, str, str], DefenseRow] = {}
    # On encodings: what training gives away besides has a board of its own.
    on_updates = {cell.attack for cell in board.cells if "updates" in cell.sees}
    known = [
        (entry, entry.worst)
        for entry in board.defenses
        if entry.defense in listed and _learns(entry) and entry.worst and entry.worst.attack not in on_updates
    ]
    # Of a defense that several suites hold, the strongest attack of any.
    for entry, _ in sorted(known, key=lambda k: (not k[1].at_random, k[1].value, k[0].suite == first)):
        entries[entry.target] = entry
    panels = places((e for e in entries.values()), PANELS)
    # A line of one point compares nothing. The setting of the main suite comes first.
    shown_first = {entry.place for entry in board.defenses if entry.suite == first}
    panels = sorted(
        (p for p in panels if sum(key[:2] == p for key in entries) > 1), key=lambda place: place not in shown_first
    )
    if not panels:
        return None
    names = sorted({parse_label(key[2])[0] for key in entries})
    look = styles(names)

    def put(figure: Any) -> None:
        across = min(len(panels), 2)
        shown = []
        for place, axis in zip(panels, grid(figure, len(panels), across), strict=True):
            here = [entries[key] for key in sorted(entries) if key[:2] == place]
            metric = next(iter(here[0].utility or {}))
            drawn = [(e, e.utility[metric], e.worst) for e in here if e.utility and e.worst and metric in e.utility]
            points = [(utility.mean or 0.0, worst.value) for _, utility, worst in drawn]
            bars: list[tuple[float, float, float]] = []
            for (entry, utility, _), (x, y) in zip(drawn, points, strict=True):
                deviation = utility.deviation
                style = {**look[parse_label(entry.defense)[0]], "linestyle": "none", "markerfacecolor": "white"}
                axis.errorbar(x, y, xerr=deviation or None, ecolor="0.6", elinewidth=0.6, **style, zorder=3)
                bars += [(x - deviation, x + deviation, y)] if deviation else []
            level = drawn[0][1]
            for value, said in ((level.undefended, "no defense"), (level.majority, "constant answer")):
                if value is not None:
                    axis.axvline(value, lw=0.6, ls=":" if said != "no defense" else "--", color="0.5", zorder=0)
                    axis.text(value, 1.22, said, fontsize=6.5, color="0.35", ha="center", va="bottom", clip_on=False)
            axis.set(
                ylim=(-0.08, 1.2),
                yticks=[0, 0.25, 0.5, 0.75, 1],
                xlabel=f"utility: {one_line(metric)}",
                ylabel="leak of the worst case",
            )
            axis.set_title(one_line(", ".join(place)), pad=16)
            axis.margins(x=0.2)
            labels = merge_labels(points, distinct_labels([e.defense for e, _, _ in drawn]))
            shown.append((axis, *labels, points, bars))
        handles = [legend_handle(one_line(name), look[name]) for name in names]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(names), 4), frameon=False, fontsize=7)
        fix_layout(figure)
        for axis, places_of, texts, marks, bars in shown:
            label_points(axis, places_of, texts, marks, bars)

    rows = -(-len(panels) // 2)
    return rendered(put, 3.9 * min(len(panels), 2) + 0.4, 3.4 * rows + 0.4)


def distinct_labels(defenses: Sequence[str]) -> list[str]:
    """Short, and none twice: points of two families may coincide."""
    short = Counter(map(short_label, defenses))
    return [
        short_label(d)
        if short[short_label(d)] == 1
        else f"{one_line(parse_label(d)[0].removeprefix('dp-ie-'), 20)} {short_label(d)}"
        for d in defenses
    ]


def merge_labels(
    points: Sequence[tuple[float, float]], labels: Sequence[str]
) -> tuple[list[tuple[float, float]], list[str]]:
    """One label for points whose markers overlap."""
    wide, high = 0.01 * (max(x for x, _ in points) - min(x for x, _ in points)), 0.035
    groups: list[list[int]] = []
    # From above and below at once: points that leak all or nothing are the groups that others join.
    for i in sorted(range(len(points)), key=lambda i: (min(points[i][1], 1 - points[i][1]), i)):
        x, y = points[i]
        near = [h for h in groups if abs(x - points[h[0]][0]) <= wide and abs(y - points[h[0]][1]) <= high]
        if near:
            min(near, key=lambda h: abs(y - points[h[0]][1])).append(i)
        else:
            groups.append([i])
    said = []
    for members in groups:
        names = [labels[i] for i in members]
        said.append("; ".join(names if len(names) < 4 else [*names[:2], f"{len(names) - 2} more"]))
    return [points[members[0]] for members in groups], said


def legend_handle(name: str, look: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **{**look, "linestyle": "none"}, markerfacecolor="white", label=name)


def _learns(entry: DefenseRow) -> bool:
    """Whether the undefended model is better than a constant answer, by the task's first metric."""
    summary = next(iter((entry.utility or {}).values()), None)
    if summary is None or summary.undefended is None or summary.majority is None:
        return summary is not None
    return summary.undefended >= summary.majority + LEARNT
