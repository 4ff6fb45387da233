"""Writes the tables of docs/attacks/instahide.md from records, with what the papers print beside them.

`python benchmarks/instahide.py`; `--check` says whether the tables are what the records have.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bench.board.model import PublishedNumber
from bench.board.papers import load
from bench.plugins.labels import natural_sort_key
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, UtilityRecord
from bench.records.store import parse

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "attacks" / "instahide.md"
RECORDS = ROOT / "leaderboards" / "records"
CHALLENGE = ("max_ssim", "mean_ssim", "min_l2", "mean_l2")
# Facts of an attack that stand beside its metrics.
FACTS = ("signs_right", "negatives_found", "hit_rate")
TRAININGS = ("instahide-table2", "instahide-figure3", "instahide-figure4")
ATTACKS = tuple(
    f"instahide-{name}" for name in ("table1", "table4", "figure4-attacks", "figure6", "figure7", "figure8")
)


def challenge(attacks: list[AttackRecord], papers: list[PublishedNumber]) -> str:
    """One picture for each encoding, by how many private pictures and how much of the public ones is known."""
    lines = [_line(("k", "attack", "Max SSIM", "Mean SSIM", "Min L2", "Mean L2", "seeds", "seconds"))]
    lines.append(_line(("---",) * 8))
    theirs = {n.metric: n for n in papers if n.suite == "instahide-challenge" and n.metric in CHALLENGE}
    if theirs:
        shown = (f"{theirs[name].value:.2f}" for name in CHALLENGE)
        lines.append(_line(("6", f"*{next(iter(theirs.values())).source}*", *shown, "", "")))
    some = [r for r in attacks if {"instahide-challenge", "instahide-part"} & {*r.suites} and "challenge" in r.details]
    for (defense, attack), found in _grouped(some, lambda r: (r.defense.label, r.attack.label)):
        k = re.search(r"k=(\d+)", defense)
        shown = (_mean([r.details["challenge"][name] for r in found], 3) for name in CHALLENGE)
        cells = (k[1] if k else "6", f"`{attack}`", *shown, _seeds(found), _span([r.cost.attack_s for r in found]))
        lines.append(_line(cells))
    return "\n".join(lines)


def pooled(attacks: list[AttackRecord]) -> str:
    """All encodings together, without candidates."""
    lines = [_line(("pictures", "defense", "identity", "success", "median SSIM, least", "seeds", "seconds"))]
    lines.append(_line(("---",) * 7))
    some = [r for r in attacks if r.attack.label == "unmix-blind" and {"instahide", "instahide-mnist"} & {*r.suites}]
    for (dataset, defense), found in _grouped(some, lambda r: (r.dataset.label, r.defense.label)):
        shares = (_span([r.metrics[name].value for r in found], 2) for name in ("identity", "success"))
        least = min(r.details["median_ssim"] for r in found)
        seconds = _span([r.cost.attack_s for r in found])
        lines.append(_line((dataset, f"`{defense}`", *shares, f"{least:.4f}", _seeds(found), seconds)))
    return "\n".join(lines)


def costs(trainings: list[UtilityRecord], papers: list[PublishedNumber]) -> str:
    """Accuracy on dev, theirs beside ours."""
    lines = [_line(("of", "data", "net", "defense", "accuracy", "seeds", "the paper, ResNet-18")), _line(("---",) * 7)]
    theirs = {(n.dataset, n.defense): n for n in papers if n.suite == "instahide-table2"}
    for suite in TRAININGS:
        some = [r for r in trainings if suite in r.suites]
        for (data, net, defense), found in _grouped(
            some, lambda r: (r.dataset.label, r.encoder.label, r.defense.label)
        ):
            beside = theirs.get((data, defense)) if suite == "instahide-table2" else None
            said = f"{beside.value:.3f} ± {beside.deviation:.3f}" if beside else ""
            shown = _mean([r.metrics["accuracy"] for r in found], 3)
            lines.append(_line((suite.split("-")[1], data, f"`{net}`", f"`{defense}`", shown, _seeds(found), said)))
    return "\n".join(lines)


def theirs_by_figure(attacks: list[AttackRecord]) -> str:
    """The paper's own attacks, and what was asked beside each."""
    lines = [_line(("of", "defense", "attack", "identity", "random", "SSIM", "what else it says", "seeds"))]
    lines.append(_line(("---",) * 8))
    for suite in ATTACKS:
        some = [r for r in attacks if suite in r.suites]
        for (defense, attack), found in _grouped(some, lambda r: (r.defense.label, r.attack.label)):
            identity, alike = ([r.metrics[name] for r in found] for name in ("identity", "ssim"))
            facts = {name: [r.details[name] for r in found] for name in FACTS if name in found[0].details}
            said = ", ".join(f"{name} {_mean(values, 2)}" for name, values in facts.items())
            shown = (_mean([m.value for m in identity], 3), _mean([m.random for m in identity], 3))
            also = _mean([m.value for m in alike], 3)
            lines.append(_line((suite[10:], f"`{defense}`", f"`{attack}`", *shown, also, said, _seeds(found))))
    return "\n".join(lines)


def ks(attacks: list[AttackRecord]) -> str:
    """Table 4, of the first seed: p against all encodings / against those of the others."""
    some = sorted((r for r in attacks if r.attack.name == "ks-test" and "p" in r.details), key=lambda r: r.seed)
    if not some:
        return ""
    found = some[0].details["p"]
    lines = [_line(("picture", *found)), _line(("---",) * (1 + len(found)))]
    for j in range(len(next(iter(found.values()))["all"])):
        pairs = (f"{p['all'][j]:.2f} / {p['other'][j]:.2f}" for p in found.values())
        lines.append(_line((f"x{j + 1}", *pairs)))
    return "\n".join(lines)


def filled(text: str, tables: dict[str, str]) -> str:
    """The page with every table between its markers."""
    for name, table in tables.items():
        start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"{PAGE}: no {start} … {end}")
        text = f"{before}{start}\n{table}\n{end}{after}"
    return text


def read(folder: Path = RECORDS) -> tuple[list[AttackRecord], list[UtilityRecord]]:
    """Those of pixels and of nets that learn from them, that have ended well."""
    attacks = [r for path in sorted(folder.glob("*.pixels.*.json")) if (r := parse(path)).status == "ok"]
    trainings = [
        r for path in sorted((folder / "utility").glob("*.convnet.*.json")) if (r := parse(path)).status == "ok"
    ]
    return attacks, trainings


def tables(
    attacks: list[AttackRecord], trainings: list[UtilityRecord], papers: list[PublishedNumber]
) -> dict[str, str]:
    return {
        "challenge": challenge(attacks, papers),
        "pooled": pooled(attacks),
        "costs": costs(trainings, papers),
        "figures": theirs_by_figure(attacks),
        "ks": ks(attacks),
    }


def _grouped(records: Iterable[Any], key: Callable[[Any], tuple[str, ...]]) -> list[tuple[tuple[str, ...], list[Any]]]:
    groups: dict[tuple[str, ...], list[Any]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return sorted(groups.items(), key=lambda item: natural_sort_key(item[0]))


def _seeds(records: Iterable[AttackRecord | UtilityRecord]) -> str:
    return str(len({r.seed for r in records}))


def _mean(values: Iterable[float], digits: int) -> str:
    return f"{np.mean([*values]):.{digits}f}"


def _span(values: Iterable[float], digits: int = 0) -> str:
    ordered = sorted(values)
    shown = [f"{value:.{digits}f}" for value in (ordered[0], ordered[-1])]
    return shown[0] if shown[0] == shown[1] else " to ".join(shown)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    made = filled(text, tables(*read(), load(Registry())))
    if not args.check:
        PAGE.write_text(made, encoding="utf-8")
    return int(args.check and made != text)


if __name__ == "__main__":
    raise SystemExit(main())
