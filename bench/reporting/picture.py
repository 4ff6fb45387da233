"""The report's picture: what the strongest attack finds against what the task still reaches, a panel a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.board.render.leakage_utility import distinct_labels, legend_handle, merge_labels
from bench.board.render.plotting import fix_layout, grid, label_points, one_line, rendered, styles
from bench.plugins.labels import parse_label
from bench.reporting.findings import LIST, Finding, Leak, Utility

Point = tuple[Finding, Utility, Leak]
ABOUT = (
    "Across: the task's own metric on held-out rows. Up: the share of private texts that the strongest attack with a "
    "list of candidates finds. Good is bottom right."
)


def draw(found: Sequence[Finding]) -> str | None:
    """SVG to stand in a page; None where no setting has two defenses to compare."""
    panels = [
        panel for training in dict.fromkeys(one.training for one in found) if len(panel := _of(found, training)) > 1
    ]
    if not panels:
        return None
    look = styles(parse_label(one.defense)[0] for panel in panels for one, _, _ in panel)

    def put(figure: Any) -> None:
        axes = grid(figure, len(panels), len(panels))
        for panel, axis in zip(panels, axes, strict=True):
            _panel(axis, panel, look)
        handles = [legend_handle(one_line(name), style) for name, style in look.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=6.5)
        fix_layout(figure)
        for panel, axis in zip(panels, axes, strict=True):
            points = [(utility.value.value, leak.value.value) for _, utility, leak in panel]
            places, texts = merge_labels(points, distinct_labels([one.defense for one, _, _ in panel]))
            label_points(axis, places, texts, points)

    svg = rendered(put, 4.4 * len(panels), 3.7)["svg"].decode()
    # Inside a page there is no place for a declaration and a document type.
    return svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{ABOUT}" ', 1)


def _of(found: Sequence[Finding], training: str | None) -> list[Point]:
    some = [(one, one.utility, one.worst(LIST)) for one in found if one.training == training]
    return [(one, utility, leak) for one, utility, leak in some if utility and leak and leak.is_share]


def _panel(axis: Any, panel: Sequence[Point], look: dict[str, dict[str, Any]]) -> None:
    for one, utility, leak in panel:
        style = {**look[parse_label(one.defense)[0]], "linestyle": "none", "markerfacecolor": "white"}
        axis.plot(utility.value.value, leak.value.value, **style, zorder=3)
    first = panel[0][1]
    levels = [(first.majority.value, "constant answer", ":")]
    levels += [(utility.value.value, "no defense", "--") for one, utility, _ in panel if one.undefended]
    for value, said, line in levels:
        axis.axvline(value, lw=0.6, ls=line, color="0.5", zorder=0)
        axis.text(value, 1.22, said, fontsize=6.5, color="0.35", ha="center", va="bottom", clip_on=False)
    axis.set(ylim=(-0.08, 1.2), yticks=[0, 0.25, 0.5, 0.75, 1], xlabel=first.metric, ylabel="share of texts found")
    axis.set_title("encoder fine-tuned" if panel[0][0].training else "frozen encoder", pad=16)
    axis.margins(x=0.2)
