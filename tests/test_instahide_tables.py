"""The tables of docs/attacks/instahide.md are what the records have."""

from __future__ import annotations

import re

import pytest

from bench.board.papers import load
from bench.plugins.registry import Registry
from benchmarks.instahide import PAGE, filled, read, tables


@pytest.mark.slow
def test_the_page_says_what_the_records_have() -> None:
    text = PAGE.read_text(encoding="utf-8")
    attacks, trainings = read()
    made = tables(attacks, trainings, load(Registry()))
    assert filled(text, made) == text
    for record in attacks:
        if "instahide-challenge" in record.suites:
            (row,) = (line for line in made["challenge"].splitlines() if _is(line, record.defense.label, record.attack.label))
            lowest = min(r.details["challenge"]["mean_ssim"] for r in attacks if _same(r, record))
            assert float(row.split("|")[4]) >= round(lowest, 3)


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="no <!-- ks:start -->"):
        filled("<!-- ks:end -->", {"ks": "| |"})
    assert filled("a <!-- ks:start --> b <!-- ks:end --> c", {"ks": "t"}) == "a <!-- ks:start -->\nt\n<!-- ks:end --> c"


def _is(line: str, defense: str, attack: str) -> bool:
    k = re.search(r"k=(\d+)", defense)
    return line.startswith(f"| {k[1] if k else 6} | `{attack}` |")


def _same(one: object, other: object) -> bool:
    labels = [[getattr(getattr(r, part), "label", None) for part in ("defense", "attack")] for r in (one, other)]
    return labels[0] == labels[1] and "challenge" in one.details  # type: ignore[attr-defined]
