"""Writes the table of docs/attacks/invert.md from the records of suite no-corpus.

`python benchmarks/invert.py`; `--check` says whether the table is what the records have.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.board.pooling import pooled
from bench.records.model import AttackRecord
from bench.records.store import parse
from benchmarks.instahide import filled

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "attacks" / "invert.md"
RECORDS = ROOT / "leaderboards" / "records"
SUITE = "no-corpus"
HEAD = (
    *("private", "behind", "encoder", "attack", "`token_f1` [95 %]", "random", "`sbert`", "`exact`"),
    *("of at most 12 words [95 %]", "texts", "seeds", "processor s each"),
)


def table(records: Sequence[AttackRecord]) -> str:
    """A line for each question, its seeds pooled; cells that differ in the attacker's encoder say so."""
    groups: dict[tuple[str, ...], list[AttackRecord]] = {}
    for record in sorted(records, key=lambda r: (r.encoder.label != "minilm", bool(r.training), r.defense.label)):
        older = f", {record.attacker} encoder" if record.attacker not in (None, "current") else ""
        encoder = record.encoder.label + (", fine-tuned" if record.training else "")
        asked = (record.dataset.label, record.defense.label, encoder, f"`{record.attack.label}`{older}")
        groups.setdefault(asked, []).append(record)
    lines = ["| " + " | ".join(HEAD) + " |", "| " + " | ".join("---" for _ in HEAD) + " |"]
    return "\n".join([*lines, *("| " + " | ".join((*asked, *_figures(some))) + " |" for asked, some in groups.items())])


def _figures(some: Sequence[AttackRecord]) -> tuple[str, ...]:
    f1, sbert, exact, short = (
        pooled(r.metrics.get(name) for r in some) for name in ("token_f1", "sbert", "exact", "exact_short")
    )
    assert f1 is not None
    cost = [float(r.details["processor seconds per sentence"]) for r in some]
    return (
        f"{f1.value:.3f} [{f1.low:.3f}, {f1.high:.3f}]",
        f"{f1.random:.3f}",
        *("–" if one is None else f"{one.value:.3f}" for one in (sbert, exact)),
        "–" if short is None else f"{short.value:.3f} [{short.low:.3f}, {short.high:.3f}]",
        str(sum(r.protocol.examples for r in some)),
        ", ".join(map(str, sorted(r.seed for r in some))),
        f"{np.mean(cost):.2f}",
    )


def read(folder: Path = RECORDS) -> list[AttackRecord]:
    """Those of the suite that have ended well."""
    found = [parse(path) for path in sorted(folder.glob("*invert*.json"))]
    return [r for r in found if isinstance(r, AttackRecord) and r.status == "ok" and SUITE in r.suites]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = PAGE.read_text(encoding="utf-8")
    made = filled(text, {"figures": table(read())})
    if parser.parse_args().check:
        return int(made != text)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
