"""The leaderboard's figures, as SVG and PNG: leak against utility, against ε, against m and k; a heat map; sentences.

A figure whose numbers the board does not have is left out: an empty frame would say that there is nothing to see.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from bench.board.model import AuditRow, Board, BoardCell, DefenseRow
from bench.board.render import table_figures
from bench.board.render.plotting import (
    Curve,
    curves,
    fix_layout,
    grid,
    label_points,
    leak,
    main_suite,
    number,
    one_line,
    places,
    rendered,
    short_label,
    styles,
)
from bench.plugins.labels import parse_label

PANELS = 4


def draw(board: Board) -> dict[str, str | bytes]:
    """Path below leaderboards/ → content."""
    makers = {
        "leakage-utility": leakage_utility,
        "success-epsilon": success_epsilon,
        "recall-mk": recall_mk,
        "heatmap": table_figures.heatmap,
        "audits": audits,
        "reconstructions": table_figures.reconstructions,
    }
    found: dict[str, str | bytes] = {}
    for name, make in makers.items():
        for ending, content in (make(board) or {}).items():
            found[f"pictures/{name}.{ending}"] = content
    return found


def audits(board: Board) -> dict[str, bytes] | None:
    """What is claimed against what an experiment shows, by the strongest game: above the diagonal, claims are false."""
    strongest: dict[tuple[str, str, str], AuditRow] = {}
    for row in sorted(board.audits, key=lambda row: row.audited):
        if row.claimed is not None:
            strongest[row.target] = row
    if not strongest:
        return None
    names = sorted({parse_label(key[2])[0] for key in strongest})
    look = styles(names)

    def put(figure: Any) -> None:
        axis = figure.subplots()
        claims = [row.claimed or 0.0 for row in strongest.values()]
        low, high = min(claims) / 2, max(*claims, *(row.ceiling for row in strongest.values())) * 2
        axis.plot([low, high], [low, high], color="0.5", lw=0.8, zorder=1)
        for name in names:
            here = [row for key, row in sorted(strongest.items()) if parse_label(key[2])[0] == name]
            # A bound of 0 has no place on a logarithmic axis: it stands at the foot.
            some = [(row.claimed or 0.0, max(row.audited, low)) for row in here]
            axis.plot(*zip(*some, strict=True), **{**look[name], "linestyle": "none", "markerfacecolor": "white"},
                      label=name, zorder=3)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low * 0.9, high))
        axis.set(xlabel="ε claimed", ylabel="ε that an experiment shows to be the least, 95 % confidence")
        axis.text(high / 1.1, high / 1.6, "above the line: refuted", ha="right", fontsize=7, color="0.35")
        axis.legend(fontsize=7, frameon=False, loc="lower right")

    return rendered(put, 4.6, 4.0)


def leakage_utility(board: Board) -> dict[str, bytes] | None:
    """What the worst attack finds against what the task still reaches: one point per defense and setting."""
    first = main_suite(board)
    entries: dict[tuple[str, str, str], DefenseRow] = {}
    # On encodings: what training gives away besides has a board of its own.
    on_updates = {cell.attack for cell in board.cells if "updates" in cell.sees}
    known = [
        (entry, entry.worst)
        for entry in board.defenses
        if entry.utility and entry.worst and entry.worst.attack not in on_updates
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
            for (entry, utility, _), (x, y) in zip(drawn, points, strict=True):
                deviation = utility.deviation
                style = {**look[parse_label(entry.defense)[0]], "linestyle": "none", "markerfacecolor": "white"}
                axis.errorbar(x, y, xerr=deviation or None, ecolor="0.6", elinewidth=0.6, **style, zorder=3)
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
            shown.append((axis, *merge_labels(points, distinct_labels([e.defense for e, _, _ in drawn]))))
        handles = [_handle(one_line(name), look[name]) for name in names]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(names), 4), frameon=False, fontsize=7)
        fix_layout(figure)
        for axis, points, texts in shown:
            label_points(axis, points, texts)

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


def _handle(name: str, look: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **{**look, "linestyle": "none"}, markerfacecolor="white", label=name)


def success_epsilon(board: Board) -> dict[str, bytes] | None:
    """The leak against the ε that is claimed; below each, the ε that holds for what the attacks see."""
    groups: dict[tuple[tuple[str, str], str], list[BoardCell]] = defaultdict(list)
    for cell in board.cells:
        if leak(cell) is not None and cell.epsilon and cell.epsilon.nominal > 0 and "updates" not in cell.sees:
            name, options = parse_label(cell.defense)
            rule = options.get("calibration", "")
            kind = f"{name}, {rule} calibration" if rule else name
            groups[cell.place, kind].append(cell)
    groups = {key: cells for key, cells in groups.items() if len({_nominal(c) for c in cells}) > 1}
    if not groups:
        return None
    chosen = places((c for cells in groups.values() for c in cells), PANELS)
    panels = [key for place in chosen for key in sorted(groups) if key[0] == place]
    look = styles(cell.attack for cells in groups.values() for cell in cells)

    def put(figure: Any) -> None:
        for key, axis in zip(panels, grid(figure, len(panels), min(len(panels), 2)), strict=True):
            (dataset, encoder), kind = key
            steps: dict[float, list[float]] = defaultdict(list)
            for cell in groups[key]:
                steps[_nominal(cell)] += [cell.epsilon.accounted] if cell.epsilon else []
            ticks = sorted(steps)
            found = [(float(ticks.index(_nominal(cell))), cell) for cell in groups[key]]
            curves(axis, len(ticks), protocol_curves(found, look))
            said = [f"{short_number(t)} → {epsilon_range(steps[t])}" for t in ticks]
            axis.set_xticks(range(len(ticks)), said, fontsize=6.5, rotation=90)
            axis.set(xlabel="ε claimed → actual ε, by protocol", ylabel="leak")
            axis.set_title(one_line(f"{dataset}, {encoder}: {kind}", 60))

    rows = -(-len(panels) // 2)
    return rendered(put, 3.9 * min(len(panels), 2), 2.8 * rows)


def _nominal(cell: BoardCell) -> float:
    return cell.epsilon.nominal if cell.epsilon else 0.0


def protocol_curves(found: Sequence[tuple[float, BoardCell]], look: dict[str, dict[str, Any]]) -> list[Curve]:
    """A line is of one attack and one protocol, since two protocols do not compare.

    Of an attack's protocols the one with most points is drawn, then any other that goes where none before it does,
    under its own name: a curve that ends early would hide what was found further on.
    """
    protocols: dict[str, dict[str, dict[float, float]]] = defaultdict(lambda: defaultdict(dict))
    for x, cell in found:
        protocols[cell.attack][cell.protocol][x] = cell.value or 0.0
    lines = []
    for attack, some in sorted(protocols.items()):
        first, *others = sorted(some, key=lambda name: (-len(some[name]), -sum(some[name].values()), name))
        lines.append(Curve(attack, look[attack], sorted(some[first].items())))
        seen = set(some[first])
        for other in others:
            if len(some[other]) > 1 and not seen.issuperset(some[other]):
                lines.append(Curve(f"{attack}, {_difference(other, first)}", look[attack], sorted(some[other].items())))
                seen.update(some[other])
    # A line of one point compares nothing.
    return [line for line in lines if len(line.points) > 1] or lines


def _difference(protocol: str, other: str) -> str:
    """The words of a protocol that another does not have."""
    words = other.split(", ")
    return ", ".join(word for word in protocol.split(", ") if word not in words) or protocol


def epsilon_range(accounted: Sequence[float]) -> str:
    """From the least to the most: attacks that see more encodings of a sentence see more of its budget spent."""
    return "–".join(dict.fromkeys(map(short_number, (min(accounted), max(accounted)))))


def short_number(value: float) -> str:
    """Three digits at most, so that neighbours on an axis do not touch: 108,123 is 108k."""
    said = float(f"{value:.3g}")
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if said >= unit:
            return f"{said / unit:.3g}{letter}"
    return f"{said:.3g}"


def recall_mk(board: Board) -> dict[str, bytes] | None:
    """Recall against the number of masks m and against the number of mixed sentences k, the other held fixed."""
    groups: dict[tuple[str, str, str], dict[tuple[str, str], list[BoardCell]]] = defaultdict(lambda: defaultdict(list))
    for cell in board.cells:
        name, options = parse_label(cell.defense)
        masked = number(options.get("m")) not in (None, 0.0) and number(options.get("k")) is not None
        # Noise is another question, and has a figure of its own.
        if masked and cell.metric == "recall" and cell.value is not None and not cell.epsilon:
            groups[cell.dataset, cell.encoder, name][options["m"], options["k"]].append(cell)
    ranked = sorted(groups, key=lambda key: (-len(groups[key]), key))[:PANELS]
    panels = []
    for key in ranked:
        for axis_of, other in ((0, 1), (1, 0)):
            fixed = Counter(pair[other] for pair in sorted(groups[key])).most_common(1)[0][0]
            steps = sorted({pair[axis_of] for pair in groups[key] if pair[other] == fixed}, key=float)
            if len(steps) > 1:
                panels.append((key, axis_of, fixed, steps))
    if not panels:
        return None
    look = styles(c.attack for key in ranked for cells in groups[key].values() for c in cells)

    def put(figure: Any) -> None:
        for (key, axis_of, fixed, steps), axis in zip(
            panels, grid(figure, len(panels), min(len(panels), 2)), strict=True
        ):
            pairs = [(step, fixed) if axis_of == 0 else (fixed, step) for step in steps]
            found = [(float(x), cell) for x, pair in enumerate(pairs) for cell in groups[key].get(pair, ())]
            curves(axis, len(steps), protocol_curves(found, look))
            axis.set_xticks(range(len(steps)), ["∞" if step == "inf" else step for step in steps])
            axis.set(xlabel=("masks m", "mixed sentences k")[axis_of], ylabel="recall")
            fixed_at = f"{('k', 'm')[axis_of]} = {'∞' if fixed == 'inf' else fixed}"
            axis.set_title(one_line(f"{key[0]}, {key[1]}: {key[2]}, {fixed_at}", 60))

    return rendered(put, 3.9 * min(len(panels), 2), 2.4 * -(-len(panels) // 2))
