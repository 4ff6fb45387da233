"""The board in two sentences."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from bench.board.headline import headline
from bench.board.model import Board, DefenseRow


class Rows:
    def __init__(self, *rows: DefenseRow):
        self.defenses = list(rows)
        self.cells = [SimpleNamespace(attack="unmix", sees=["corpus", "encodings"])]


def said(*rows: DefenseRow) -> list[str]:
    return headline(cast(Board, Rows(*rows)))


def row(defense: str, leak: float, accuracy: float | None = 0.8, **fields: Any) -> DefenseRow:
    worst = {"attack": "unmix", "metric": "recall", "value": leak, "low": leak, "high": leak, "protocol": "1000 × 1"}
    utility = None if accuracy is None else {"accuracy": (accuracy, None, 0.82, 0.5)}
    about = {"suite": "main", "dataset": "sst2", "encoder": "minilm finetuned:layers=2", "attacks": 7, "tier": 1}
    worst |= {"at_random": fields.pop("at_random", False)}
    given = {**about, "defense": defense, "worst": worst, "epsilon": None, "utility": utility, **fields}
    return DefenseRow.model_validate(given)


def test_what_falls_and_what_holds() -> None:
    budget = {"nominal": 8.0, "accounted": 349.2}
    noise = row("dp-ie-laplace", 0.001, at_random=True, epsilon=budget)
    first, second = said(row("none", 1.0, 0.82), row("texthide", 0.9998), noise, row("ruin", 0.0, 0.6))
    assert first == (
        "On sst2 (minilm, fine-tuned through the defense), unmix with a list of candidates finds over 99 % of what "
        "texthide hides."
    )
    assert second == (
        "Of the 2 defenses that keep accuracy within 5 points on sst2, dp-ie-laplace leaks least: of 7 attacks, none "
        "beats guessing; it claims ε = 8, the actual ε is 349."
    )


def test_a_single_usable_defense_and_none() -> None:
    (only,) = said(row("mix", 0.5), row("unknown", 0.0, None))
    assert only.startswith(
        "Only mix keeps accuracy within 5 points on sst2: of 7 attacks, the strongest (unmix) finds 50 %"
    )
    assert said(row("none", 1.0), row("ruin", 0.0, 0.6)) == []
