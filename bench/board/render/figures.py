"""The leaderboard's figures, as SVG and PNG: leak against utility, ε, m and k, batch and noise; a heat map; sentences.

A figure whose numbers the board does not have is left out: an empty frame would say that there is nothing to see.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from bench.board.model import AuditRow, Board, BoardCell
from bench.board.render import leakage_utility, table_figures, update_figures
from bench.board.render.plotting import (
    LINE,
    PANELS,
    Curve,
    curves,
    grid,
    leak,
    number,
    one_line,
    places,
    plain_log,
    rendered,
    styles,
    tell,
)
from bench.plugins.labels import parse_label

# Curves that move by less over a whole axis are as good as level, and a panel of such curves shows nothing.
LEVEL = 0.05


def draw(board: Board) -> dict[str, str | bytes]:
    """Path below leaderboards/ → content."""
    makers = {
        "leakage-utility": leakage_utility.draw,
        "success-epsilon": success_epsilon,
        "recall-mk": recall_mk,
        "heatmap": table_figures.heatmap,
        "updates": update_figures.draw,
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
    kinds: dict[str, list[AuditRow]] = defaultdict(list)
    for key, row in sorted(strongest.items()):
        name, options = parse_label(key[2])
        rule = options.get("calibration", "")
        kinds[f"{name}, {rule} calibration" if rule else name].append(row)
    look = styles(sorted(kinds))

    def put(figure: Any) -> None:
        axis = figure.subplots()
        claims = [row.claimed or 0.0 for row in strongest.values()]
        low, high = min(claims) / 2, max(*claims, *(row.ceiling for row in strongest.values())) * 2
        axis.plot([low, high], [low, high], color="0.5", lw=0.8, zorder=1)
        for kind, here in sorted(kinds.items()):
            # A bound of 0 has no place on a logarithmic axis: it stands at the foot.
            some = [(row.claimed or 0.0, max(row.audited, low)) for row in here]
            axis.plot(*zip(*some, strict=True), **{**look[kind], "linestyle": "none", "markerfacecolor": "white"},
                      label=kind, zorder=3)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low * 0.9, high))
        for side in (axis.xaxis, axis.yaxis):
            plain_log(side)
        axis.set(xlabel="ε claimed", ylabel="ε that an experiment shows to be the least, 95 % confidence")
        axis.text(low * 1.1, high / 1.2, "above the line: refuted", va="top", fontsize=7, color="0.35")
        axis.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return rendered(put, 6.4, 4.0)


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
    named = [key for place in chosen for key in sorted(groups) if key[0] == place]
    panels = [key for key in named if not is_level(_by_claim(groups[key]))] or named
    told = [_in_words(key, groups[key]) for key in named if key not in panels]
    look = styles(cell.attack for cells in groups.values() for cell in cells)

    def put(figure: Any) -> None:
        for key, axis in zip(panels, grid(figure, len(panels), min(len(panels), 2)), strict=True):
            (dataset, encoder), kind = key
            steps: dict[float, list[float]] = defaultdict(list)
            for cell in groups[key]:
                steps[_nominal(cell)] += [cell.epsilon.accounted] if cell.epsilon else []
            ticks = sorted(steps)
            found = _by_claim(groups[key])
            curves(axis, len(ticks), protocol_curves(found, look))
            said = [f"{short_number(t)} → {epsilon_range(steps[t])}" for t in ticks]
            axis.set_xticks(range(len(ticks)), said, fontsize=6.5, rotation=90)
            axis.set(xlabel="ε claimed → actual ε, by protocol", ylabel="leak")
            axis.set_title(one_line(f"{dataset}, {encoder}: {kind}", 60))
        tell(figure, told)

    rows = -(-len(panels) // 2)
    return rendered(put, 3.9 * min(len(panels), 2), 2.8 * rows + LINE * len(told))


def _by_claim(cells: Sequence[BoardCell]) -> list[tuple[float, BoardCell]]:
    """Cells with their places on an axis of all ε that are claimed."""
    ticks = sorted({_nominal(cell) for cell in cells})
    return [(float(ticks.index(_nominal(cell))), cell) for cell in cells]


def _in_words(key: tuple[tuple[str, str], str], cells: Sequence[BoardCell]) -> str:
    claims = [short_number(claim) for claim in sorted({_nominal(cell) for cell in cells})]
    most = max(cells, key=lambda cell: leak(cell) or 0.0)
    return (
        f"{', '.join(key[0])}: {key[1]}, ε = {claims[0]} to {claims[-1]}: {most.attack} finds at most {leak(most):.3f}"
    )


def is_level(found: Sequence[tuple[float, BoardCell]]) -> bool:
    """Whether no attack finds more or less from one end of the axis to the other, within one protocol."""
    lines: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _, cell in found:
        lines[cell.attack, cell.protocol].append(cell.value or 0.0)
    return all(max(values) - min(values) < LEVEL for values in lines.values())


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
    level = [panel for panel in panels if is_level(_over_steps(groups[panel[0]], *panel[1:]))]
    panels = [panel for panel in panels if panel not in level] or panels
    told = [_steps_in_words(groups[panel[0]], *panel) for panel in level if panel not in panels]
    look = styles(c.attack for key in ranked for cells in groups[key].values() for c in cells)

    def put(figure: Any) -> None:
        for (key, axis_of, fixed, steps), axis in zip(
            panels, grid(figure, len(panels), min(len(panels), 2)), strict=True
        ):
            found = _over_steps(groups[key], axis_of, fixed, steps)
            curves(axis, len(steps), protocol_curves(found, look))
            axis.set_xticks(range(len(steps)), ["∞" if step == "inf" else step for step in steps])
            axis.set(xlabel=("masks m", "mixed sentences k")[axis_of], ylabel="recall")
            fixed_at = f"{('k', 'm')[axis_of]} = {'∞' if fixed == 'inf' else fixed}"
            axis.set_title(one_line(f"{key[0]}, {key[1]}: {key[2]}, {fixed_at}", 60))
        tell(figure, told)

    return rendered(put, 3.9 * min(len(panels), 2), 2.4 * -(-len(panels) // 2) + LINE * len(told))


Pairs = dict[tuple[str, str], list[BoardCell]]


def _over_steps(cells: Pairs, axis_of: int, fixed: str, steps: Sequence[str]) -> list[tuple[float, BoardCell]]:
    """Cells with their places on an axis of m or of k."""
    pairs = [(step, fixed) if axis_of == 0 else (fixed, step) for step in steps]
    return [(float(x), cell) for x, pair in enumerate(pairs) for cell in cells.get(pair, ())]


def _steps_in_words(cells: Pairs, key: tuple[str, str, str], axis_of: int, fixed: str, steps: Sequence[str]) -> str:
    best = max((cell for _, cell in _over_steps(cells, axis_of, fixed, steps)), key=lambda cell: cell.value or 0.0)
    ends = " to ".join("∞" if step == "inf" else step for step in (steps[0], steps[-1]))
    return (
        f"{', '.join(key[:2])}: {key[2]}, {'mk'[axis_of]} = {ends} makes no difference: {best.attack} {best.value:.3f}"
    )
