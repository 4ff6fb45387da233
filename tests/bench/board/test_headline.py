"""The board in three sentences: strongest attack, what to trust, what is assumed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from bench.board.headline import headline
from bench.board.model import Board, DefenseRow


class Rows:
    def __init__(self, *rows: DefenseRow):
        self.defenses = list(rows)
        command = "bench run --attack unmix --attacker current"
        self.cells = [SimpleNamespace(attack="unmix", sees=["corpus", "encodings"], suites=["main"], command=command)]


def said(*rows: DefenseRow) -> dict[str, str]:
    return dict(headline(cast(Board, Rows(*rows))))


def row(defense: str, leak: float, accuracy: float | None = 0.8, **fields: Any) -> DefenseRow:
    worst = {"attack": "unmix", "metric": "recall", "value": leak, "low": leak, "high": leak, "protocol": "1000 × 1"}
    utility = None if accuracy is None else {"accuracy": (accuracy, None, 0.82, 0.5)}
    about = {"suite": "main", "dataset": "sst2", "encoder": "minilm finetuned:layers=2", "attacks": 7, "tier": 1}
    worst |= {"at_random": fields.pop("at_random", False)}
    given = {**about, "defense": defense, "worst": worst, "epsilon": None, "utility": utility, **fields}
    return DefenseRow.model_validate(given)


def epsilon(claimed: float, actual: float) -> dict[str, float]:
    return {"nominal": claimed, "accounted": actual}


def test_what_falls_what_holds_and_what_is_assumed() -> None:
    noise = row("dp-ie-laplace", 0.001, at_random=True, epsilon=epsilon(8, 349.2))
    found = said(row("none", 1.0, 0.82), row("texthide", 0.9998), noise, row("ruin", 0.0, 0.6))
    assert found == {
        "Strongest attack": "unmix, with a list of candidates, finds over 99 % of what texthide hides on sst2.",
        "Which to trust": "On sst2, none yet. Of the 2 defenses that keep accuracy within 5 points, dp-ie-laplace "
        "leaks least: none of 7 attacks on it beats guessing, but it claims ε = 8, and its actual ε is 349.",
        "What this assumes": "The attacker has a list of candidates that holds every private sentence; the encoder is "
        "minilm, fine-tuned through the defense, and the attacker has its weights.",
    }


def test_data_sets_on_which_the_same_falls_share_a_sentence() -> None:
    found = said(row("a", 1.0), row("b", 1.0), row("a", 1.0, dataset="cola", utility=None), row("none", 1.0))
    assert found["Strongest attack"] == (
        "unmix, with a list of candidates, finds 100 % of what a hides on cola, and of what a and b hide on sst2."
    )


def test_a_promise_that_holds_is_what_to_trust() -> None:
    sound = row("once", 0.002, 0.78, at_random=True, epsilon=epsilon(4, 4))
    loose = row("often", 0.001, 0.81, at_random=True, epsilon=epsilon(1, 30))
    assert said(sound, loose)["Which to trust"] == (
        "On sst2, once. Of the 2 defenses that keep accuracy within 5 points, once leaks least: none of 7 attacks "
        "on it beats guessing, and its ε of 4 holds."
    )


def test_leaks_that_are_no_better_than_guessing_are_alike() -> None:
    """0.001 in place of 0.002 is chance: ε decides."""
    less = row("laplace", 0.001, at_random=True, epsilon=epsilon(8, 349))
    more = row("gaussian", 0.002, at_random=True, epsilon=epsilon(8, 18.4))
    assert "gaussian leaks least" in said(less, more)["Which to trust"]


def test_a_single_usable_defense_and_none() -> None:
    only = said(row("mix", 0.5), row("unknown", 0.0, None))["Which to trust"]
    assert only == (
        "On sst2, none yet. Only mix keeps accuracy within 5 points: unmix finds 50 % of what it hides, and it claims "
        "no ε."
    )
    leaky = said(row("mix", 0.3, epsilon=epsilon(50, 50)))["Which to trust"]
    assert leaky.endswith("unmix finds 30 % of what it hides, and its ε of 50, which holds, does not prevent that.")
    assert said(row("none", 1.0), row("ruin", 0.0, 0.6)) == {}


def test_without_a_list_and_with_known_pairs_it_says_so() -> None:
    """The tier of knowledge stands in the headline."""
    about = {"attack": "invert", "metric": "exact", "value": 0.4, "low": 0.3, "high": 0.5, "at_random": False}
    blind = row("texthide", 0.4, worst={**about, "protocol": "40 × 1, coverage 0"})
    told = said(blind)["What this assumes"]
    assert told == (
        "The attacker has no list of candidates; the encoder is minilm, fine-tuned through the defense, and the "
        "attacker has its weights."
    )
    few = row("texthide", 0.4, worst={**about, "attack": "invert-few", "protocol": "40 × 1, 100 known pairs of prose"})
    assert "the attacker knew 100 of its vectors instead of its weights" in said(few)["What this assumes"]
    assert "some attackers knew 100 of its vectors" in said(few, blind)["What this assumes"]
