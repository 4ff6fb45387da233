"""The tables of docs/attacks/instahide.md are what the records have."""

from __future__ import annotations

import numpy as np
import pytest

from bench.board.papers import load
from bench.plugins.registry import Registry
from benchmarks.instahide import PAGE, filled, read, tables


@pytest.mark.slow
def test_the_page_says_what_the_records_have() -> None:
    attacks, trainings = read()
    papers = load(Registry())
    made = tables(attacks, trainings, papers)
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, made) == text
    found = [
        r for r in attacks if r.defense.label == "instahide-cross" and r.attack.label == "unmix-cross:answer=items"
    ]
    (row,) = (line for line in made["challenge"].splitlines() if line.startswith("| 6 | `unmix-cross:answer=items`"))
    assert row.split("|")[4].strip() == f"{np.mean([r.details['challenge']['mean_ssim'] for r in found]):.3f}"
    (theirs,) = (number.value for number in papers if number.metric == "mean_ssim")
    assert f" {theirs:.2f} " in made["challenge"].splitlines()[2]


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="no <!-- ks:start -->"):
        filled("<!-- ks:end -->", {"ks": "| |"})
    page = "a <!-- ks:start --> b <!-- ks:end --> c"
    assert filled(page, {"ks": "t"}) == "a <!-- ks:start -->\nt\n<!-- ks:end --> c"
