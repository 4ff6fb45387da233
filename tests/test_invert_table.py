"""The table of docs/attacks/invert.md is what the records have."""

from __future__ import annotations

from typing import Any

from bench.records.model import Metric
from benchmarks.instahide import filled
from benchmarks.invert import PAGE, read, table
from tests.helpers.records import attack_record


def test_the_page_says_what_the_records_have() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, {"figures": table(read())}) == text


def test_seeds_are_pooled_and_other_attackers_have_lines_of_their_own() -> None:
    def one(seed: int, value: float, **about: Any) -> Any:
        metrics = {
            name: Metric(value=value, low=value - 0.1, high=value + 0.1, random=0.1, random_low=0.0, random_high=0.2)
            for name in ("token_f1", "sbert", "exact")
        }
        record = attack_record(seed=seed, attack="invert", details={"processor seconds per sentence": 1.5})
        return record.replace(metrics=metrics, **about)

    lines = table([one(0, 0.4), one(1, 0.6), one(0, 0.2, attacker="initial")]).splitlines()[2:]
    assert len(lines) == 2
    assert "0.500 [0.429, 0.571] | 0.100 | 0.500 | 0.500 | –" in lines[0]
    assert "| 0, 1 | 1.50 |" in lines[0]
    assert "initial encoder" in lines[1]
