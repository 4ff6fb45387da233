"""Today's ratios beside the committed ones of the same processor: what became slower, what faster, what is new.

Ratios are compared, not seconds, and only with those of the same model of processor: another one has other libraries'
kernels, caches and widths, and with them other ratios. A ratio is slower if its median fell below 0.75 of the committed
one and no repeat reaches the range of the committed repeats: what lies within the spread is noise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

TOLERANCE = 0.75


@dataclass(frozen=True)
class Figure:
    """One measurement over its repeats."""

    baseline: str
    unit: str
    plain: list[float]
    ours: list[float]
    ratios: list[float]
    limit: float | None = None
    shares: list[float] | None = None
    """of the machine's matrix product, by repeat (benchmarks/yardstick.py)"""

    @property
    def late(self) -> bool:
        """Every repeat took longer than the design allows."""
        return self.limit is not None and min(self.ours) > self.limit


class Damaged(Exception):
    """A file of figures that cannot be read."""


@dataclass(frozen=True)
class Machine:
    """What was measured on one model of processor."""

    about: dict[str, object]
    """date, machine, versions, yardstick"""
    figures: dict[str, Figure]


def read(path: Path) -> dict[str, Machine]:
    """The figures of a file by model of processor; none where there is no file."""
    try:
        content = json.loads(path.read_text("utf-8"))["machines"]
        return {model: _machine(dict(found)) for model, found in content.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
        raise Damaged(f"{path} is damaged ({why}): `git checkout` restores it, --save writes it anew") from None


def _machine(found: dict[str, object]) -> Machine:
    figures = found.pop("figures")
    return Machine(found, {name: Figure(**figure) for name, figure in figures.items()})  # type: ignore[attr-defined]


def write(path: Path, machines: Mapping[str, Machine]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "machines": {
            model: {**one.about, "figures": {name: asdict(figure) for name, figure in one.figures.items()}}
            for model, one in sorted(machines.items())
        }
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def judge(now: Sequence[float], before: Sequence[float] | None) -> str:
    """One word on a ratio's repeats, beside the committed ones."""
    if not before:
        return "new"
    change = median(now) / median(before)
    if change < TOLERANCE and max(now) < min(before):
        return "slower"
    if change > 1 / TOLERANCE and min(now) > max(before):
        return "faster"
    return "as before"


def verdicts(now: Mapping[str, Figure], before: Mapping[str, Figure] | None) -> dict[str, str]:
    """For every figure of today one word; "late" is added where the design's limit was passed."""
    found = {}
    for name, figure in now.items():
        old = (before or {}).get(name)
        word = judge(figure.ratios, old.ratios if old else None)
        found[name] = f"{word}, late (asked: {figure.limit} s)" if figure.late else word
    return found


def bad(verdict: str) -> bool:
    return verdict.startswith("slower") or "late" in verdict


def table(now: Mapping[str, Figure], said: Mapping[str, str], before: Mapping[str, Figure] | None) -> str:
    """Markdown, so that it can be pasted into a page as it is."""
    head = ["what", "baseline", "baseline's", "ours", "unit", "ratio (range)", "of the limit", "committed", "verdict"]
    rows = [head, ["---"] * len(head)]
    for name, figure in now.items():
        old = (before or {}).get(name)
        rows.append(
            [
                *(name, figure.baseline, f"{median(figure.plain):,.3g}", f"{median(figure.ours):,.3g}", figure.unit),
                f"{median(figure.ratios):.3g} ({min(figure.ratios):.3g}..{max(figure.ratios):.3g})",
                f"{median(figure.shares):.2f}" if figure.shares else "",
                f"{median(old.ratios):.3g}" if old else "",
                said[name],
            ]
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in rows)
