"""Makes the tables and figures of docs/story.md from records, between the markers that stand there.

python benchmarks/story.py leaderboards/records docs/story.md
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.board.pooling import pooled
from bench.records.model import AttackRecord, Record
from bench.records.store import read_all

ATTACKS = ("rss", "rep-recon", "magnitude-search", "unmix")
SUITES = {"story", "unmix"}
MARKS = {"unmix": "o", "magnitude-search": "s", "rss": "^", "rep-recon": "D"}
Cell = list[AttackRecord]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    args = parser.parse_args()
    cells = gather(read_all(args.results))
    text = args.page.read_text(encoding="utf-8")
    for name, made in {"tables": tables(cells), "noise": noise(cells), "coverage": coverage(cells)}.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, made=made: f"{m[1]}{made}\n{m[2]}", text, flags=re.S)
    args.page.write_text(text, encoding="utf-8")
    folder = args.page.parent / "figures"
    folder.mkdir(exist_ok=True)
    draw_masks(cells, folder / "masks.svg")
    draw_noise(cells, folder / "noise.svg")


def gather(records: Sequence[Record]) -> dict[tuple[str, str, str, str, float], Cell]:
    """Records of its two suites that came to an end, by data set, encoder, defense, attack and coverage; of a cell's,
    the newest. Other suites have other protocols."""
    newest: dict[tuple[Any, ...], AttackRecord] = {}
    for r in sorted(records, key=lambda r: r.cost.ended):
        if isinstance(r, AttackRecord) and r.status == "ok" and SUITES & r.suites.keys():
            key = (r.dataset.name, r.encoder.name, defense(r), r.attack.name)
            newest[(*key, r.protocol.coverage, r.seed)] = r
    found: dict[tuple[str, str, str, str, float], Cell] = defaultdict(list)
    for (*key, _), r in newest.items():
        found[tuple(key)].append(r)  # type: ignore[index]
    return found


def defense(record: AttackRecord) -> str:
    """Name and settings in one form, however they were typed."""
    name, options = record.defense.name, record.defense.options
    if name == "texthide":
        return f"texthide m={options['m']}, k={options['k']}"
    if name.startswith("dp-ie"):
        return f"{name} ε={options['epsilon']:g}"
    return f"{name}, k={options['k']}" if "k" in options else name


def value(cell: Cell | None, metric: str) -> str:
    if not cell:
        return ""
    found = pooled(r.metrics[metric] for r in cell)
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]" if found else ""


def recall(cell: Cell) -> float:
    found = pooled(r.metrics["recall"] for r in cell)
    return found.value if found else 0.0


def order(name: str) -> tuple[int, float, float]:
    kinds = ("none", "mix-only", "texthide", "dp-ie-gaussian", "dp-ie-laplace")
    kind = next(i for i, word in enumerate(kinds) if name.startswith(word))
    numbers = [float(n) for n in re.findall(r"=([\d.]+|inf)", name)]
    return (kind, numbers[-1] if kind == 2 else 0.0, -numbers[0] if kind > 2 else numbers[0] if numbers else 0.0)


def tables(cells: dict[tuple[str, str, str, str, float], Cell]) -> str:
    """One table per data set and encoder: identity and recall of every attack on every defense."""
    lines = []
    for place in sorted({key[:2] for key in cells}):
        here = {key[2:4]: cell for key, cell in cells.items() if key[:2] == place and key[4] == 1.0}
        attacks = [a for a in ATTACKS if any(key[1] == a for key in here)]
        lines += [f"\n**{place[0]}, {place[1]}**: identity, then recall, with 95 % intervals\n"]
        lines += ["| defense | " + " | ".join(attacks) + " |", "| --- |" + " --- |" * len(attacks)]
        for name in sorted({key[0] for key in here}, key=order):
            shown = [here.get((name, attack)) for attack in attacks]
            texts = [f"{value(c, 'identity')}<br>{value(c, 'recall')}" if c else "" for c in shown]
            lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def noise(cells: dict[tuple[str, str, str, str, float], Cell]) -> str:
    """What DP-IE's noise leaves, beside the ε that is claimed and the one that holds."""
    rows = ["| defense | ε that holds | magnitude-search | unmix | seeds |", "| --- | --- | --- | --- | --- |"]
    for name in sorted({k[2] for k in cells if k[2].startswith("dp-ie") and k[:2] == ("cola", "minilm")}, key=order):
        pair = [cells.get(("cola", "minilm", name, attack, 1.0)) for attack in ("magnitude-search", "unmix")]
        seen = pair[1] or pair[0] or []
        held = max(r.accounted.epsilon for r in seen if r.accounted)
        recalls = " | ".join(value(cell, "recall") for cell in pair)
        rows.append(f"| {name} | {held:.4g} | {recalls} | {len(seen)} |")
    return "\n".join(rows)


def coverage(cells: dict[tuple[str, str, str, str, float], Cell]) -> str:
    rows = ["| coverage | recall over what the corpus holds | AUC of confidence | seeds |", "| --- | --- | --- | --- |"]
    for key in sorted(cells, key=lambda key: -key[4]):
        if key[:4] == ("cola", "minilm", "texthide m=inf, k=4", "unmix"):
            aucs = [r.details.get("confidence_auc") for r in cells[key]]
            known = [auc for auc in aucs if auc is not None]
            auc = f"{min(known):.4f} to {max(known):.4f}" if known else ""
            rows.append(f"| {key[4]:g} | {value(cells[key], 'recall')} | {auc} | {len(cells[key])} |")
    return "\n".join(rows)


def draw_masks(cells: dict[tuple[str, str, str, str, float], Cell], path: Path) -> None:
    """Recall against the number of masks, k = 4: what the papers tried, and what is there."""
    plt = _plotting()
    sizes = ["1", "16", "256", "4096", "inf"]
    fig, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
    for axis, data in zip(axes, ("cola", "sst2"), strict=True):
        for attack in ATTACKS:
            points = [
                (i, recall(cell))
                for i, m in enumerate(sizes)
                if (cell := cells.get((data, "minilm", f"texthide m={m}, k=4", attack, 1.0)))
            ]
            if points:
                axis.plot(*zip(*points, strict=True), marker=MARKS[attack], label=attack, color="black", lw=0.8, ms=5)
        axis.set(title=f"{data}, minilm, TextHide k = 4", xlabel="masks m", ylim=(-0.03, 1.05))
        axis.set_xticks(range(len(sizes)), sizes)
    axes[0].set_ylabel("recall")
    axes[0].legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.68), fontsize=8)
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)


def draw_noise(cells: dict[tuple[str, str, str, str, float], Cell], path: Path) -> None:
    """Recall against the claimed ε of DP-IE."""
    plt = _plotting()
    fig, axis = plt.subplots(figsize=(5, 3))
    for kind, line in (("gaussian", "-"), ("laplace", "--")):
        for attack in ("unmix", "magnitude-search"):
            points = sorted(
                (cell[0].defense.options["epsilon"], recall(cell))
                for key, cell in cells.items()
                if key[:2] == ("cola", "minilm") and key[2].startswith(f"dp-ie-{kind}") and key[3] == attack
            )
            if points:
                style = {"marker": MARKS[attack], "ls": line, "color": "black", "lw": 0.8, "ms": 5}
                axis.plot(*zip(*points, strict=True), label=f"{attack}, {kind}", **style)
    axis.set(xscale="log", xlabel="ε as published (one encoding)", ylabel="recall", title="cola, minilm, DP-IE k = 4")
    axis.legend(frameon=False, fontsize=8)
    fig.tight_layout()
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)


def _plotting() -> Any:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "hideseek"  # the same figure, the same bytes
    import matplotlib.pyplot as plt

    return plt


if __name__ == "__main__":
    main()
