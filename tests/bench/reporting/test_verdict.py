"""What a report says in words, from records that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from bench.records.model import Record
from bench.reporting import picture
from bench.reporting.content import Items, Report, blocks
from bench.reporting.figures import plain
from bench.reporting.findings import findings
from bench.reporting.verdict import recommendation, verdict
from tests.helpers.records import attack_record, budget, failed_record, utility_record

HIDDEN, SOUND = [0.0] * 40, "release-once"


def said(records: list[Record]) -> tuple[str, str]:
    found = findings(records)
    return " ".join(map(plain, verdict(found))), " ".join(map(plain, recommendation(found)))


def cells(defense: str, leak: list[float], accuracy: float, **fields: Any) -> list[Record]:
    return [attack_record(defense, "unmix", leak, dataset="sst2", **fields), utility_record(defense, accuracy)]


UNDEFENDED = cells("none", [1.0] * 40, 0.8)


def test_a_defense_that_falls_is_named_with_its_attack_and_its_share() -> None:
    words, todo = said([*UNDEFENDED, *cells("texthide", [1.0] * 39 + [0.0], 0.79)])
    assert "texthide does not hide these texts: unmix with a list of candidates finds 98 % of what it hides" in words
    assert todo.startswith("Nothing that was tried")
    assert "Use" not in todo


def test_part_of_the_texts_is_neither_all_nor_nothing() -> None:
    words, _ = said([*UNDEFENDED, *cells("texthide", [1.0] * 8 + [0.0] * 32, 0.79)])
    assert "texthide hides part of them" in words
    assert "does not hide" not in words


def test_what_hides_keeps_accuracy_and_its_promise_is_recommended() -> None:
    words, todo = said([*UNDEFENDED, *cells(SOUND, HIDDEN, 0.78, notes=budget(4, 4))])
    assert f"{SOUND}: the one attack that was run does not beat guessing; accuracy 0.780 in place of 0.800" in words
    assert f"{SOUND} claims ε = 4, which holds." in words
    assert todo == f"Use {SOUND}: the one attack that was run does not beat guessing, and its ε holds."


def test_a_promise_that_does_not_hold_is_said_and_no_guarantee() -> None:
    words, todo = said([*UNDEFENDED, *cells("dp-ie-laplace", HIDDEN, 0.79, notes=budget(1, 27.7), epochs=5)])
    assert "claims ε = 1; the actual ε is 27.7 after 5 encodings of a text." in words
    assert "the best of what was tried: the one attack that was run does not beat guessing, and accuracy stays" in todo
    assert "That is no guarantee" in todo
    assert "Use" not in todo
    second = attack_record("dp-ie-laplace", "rss", HIDDEN, dataset="sst2", notes=budget(1, 27.7))
    _, todo = said([*UNDEFENDED, *cells("dp-ie-laplace", HIDDEN, 0.79, notes=budget(1, 27.7)), second])
    assert "the best of what was tried: no attack beats guessing, and accuracy stays" in todo


def test_what_costs_too_much_is_no_recommendation() -> None:
    _, todo = said([*UNDEFENDED, *cells(SOUND, HIDDEN, 0.6, notes=budget(4, 4))])
    assert "take it if accuracy 0.600 in place of 0.800 (a constant answer: 0.500) is worth having" in todo
    assert "DP-SGD" in todo


def test_a_guarantee_on_which_nothing_can_be_learnt_is_said_to_be_one() -> None:
    _, todo = said([*UNDEFENDED, *cells(SOUND, HIDDEN, 0.505, notes=budget(4, 4))])
    assert "a model that is trained on it learns nothing: accuracy 0.505 in place of 0.800" in todo
    assert "worth having" not in todo


def test_a_guarantee_whose_price_is_not_known_is_neither_recommended_nor_called_useless() -> None:
    attacked = attack_record(SOUND, "unmix", HIDDEN, dataset="sst2", notes=budget(4, 4))
    _, todo = said([attack_record("none", "unmix", [1.0] * 40, dataset="sst2"), attacked])
    assert todo.startswith(
        f"{SOUND}: no attack beats guessing, and the ε holds. What it costs in accuracy was not measured"
    )
    assert "Nothing that was tried" not in todo
    assert "DP-SGD" not in todo


def test_of_several_actual_epsilons_after_as_many_encodings_the_largest_counts() -> None:
    some = [attack_record("dp-ie-laplace", a, HIDDEN, notes=budget(1, e), epochs=n)
            for a, e, n in (("rss", 20.0, 1), ("unmix", 27.7, 1), ("xie-hong", 99.0, 50))]  # fmt: skip
    (found,) = findings(some)
    assert [(b.actual.value, b.encodings.value) for b in found.budgets] == [(27.7, 1), (99.0, 50)]


def test_of_several_epsilons_the_default_is_named_too_and_alone_it_is_not() -> None:
    default = attack_record("dp-ie-gaussian", "unmix")
    default = default.replace(defense=default.defense.replace(options={"epsilon": 1.0}))
    other = attack_record("dp-ie-gaussian:epsilon=8", "unmix")
    assert [found.defense for found in findings([default, other])] == [
        "dp-ie-gaussian:epsilon=1.0",
        "dp-ie-gaussian:epsilon=8",
    ]
    assert [found.defense for found in findings([default])] == ["dp-ie-gaussian"]


def test_a_defense_whose_attack_failed_does_not_hold() -> None:
    failed = failed_record(SOUND, "xie-hong", dataset="sst2")
    words, todo = said([*UNDEFENDED, *cells(SOUND, HIDDEN, 0.8, notes=budget(4, 4)), failed])
    assert "beats guessing" not in words
    assert "Use" not in todo


def test_a_defense_that_falls_in_another_setting_is_not_recommended() -> None:
    trained = {"kind": "finetuned", "layers": 2}
    fallen = attack_record(SOUND, "unmix", [1.0] * 40, dataset="sst2", training=trained, attacker="current")
    _, todo = said([*UNDEFENDED, *cells(SOUND, HIDDEN, 0.8, notes=budget(4, 4)), fallen])
    assert "Use" not in todo


def test_gradients_of_the_encoder_are_a_matter_of_their_own() -> None:
    update = attack_record("texthide", "span", [1.0] * 40, dataset="sst2")
    update = update.replace(attack=update.attack.replace(sees=["corpus", "updates"]))
    words, todo = said([*UNDEFENDED, *cells("texthide", HIDDEN, 0.79), update])
    assert "span names the texts of a batch behind texthide (100 %)" in words
    assert "Do not send gradients of the encoder" in todo
    assert "texthide does not hide" not in words  # encodings are another question


def test_gradients_without_a_defense_are_said_to_have_none() -> None:
    update = attack_record("none", "span", [1.0] * 40, dataset="sst2")
    update = update.replace(attack=update.attack.replace(sees=["corpus", "updates"]))
    assert "the texts of a batch behind no defense (100 %)." in said([*UNDEFENDED, update])[0]


def test_what_was_not_run_is_a_dash_that_is_explained() -> None:
    half = attack_record("texthide", "unmix", [1.0] * 40, dataset="sst2", protocol={"coverage": 0.5})
    notes = [block for block in blocks(Report([*UNDEFENDED, half], (), ("bench",))) if isinstance(block, Items)]
    assert ("–: not run.",) in notes[-1].sentences
    whole = blocks(Report([*UNDEFENDED, *cells("texthide", HIDDEN, 0.79)], (), ("bench",)))
    assert not any(("–: not run.",) in block.sentences for block in whole if isinstance(block, Items))


def test_markers_of_the_picture_are_explained() -> None:
    some = findings([*UNDEFENDED, *cells("texthide", HIDDEN, 0.79)])
    drawn = picture.draw(some) or ""
    assert drawn.count("texthide") > 1  # beside its point, and in the legend


def test_a_model_that_learns_nothing_undefended_says_nothing_of_costs() -> None:
    _, todo = said([*cells("none", [1.0] * 40, 0.5), *cells(SOUND, HIDDEN, 0.5, notes=budget(4, 4))])
    assert "cannot be judged on these data" in todo
    assert "Use" not in todo


@pytest.mark.parametrize(("coverage", "column"), [(1.0, "list"), (0.5, "part")])
def test_what_the_attacker_knew_is_read_from_the_protocol(coverage: float, column: str) -> None:
    (found,) = findings([attack_record("texthide", "unmix", protocol={"coverage": coverage})])
    assert found.worst(column) is not None
    assert [leak.knowledge for leak in found.leaks] == [column]


def test_what_holds_only_behind_a_shared_training_is_not_praised_without_its_gradients() -> None:
    trained: dict[str, Any] = {"training": {"kind": "finetuned", "layers": 2}}
    some: list[Record] = []
    for defense, leak, accuracy in (("none", [1.0] * 40, 0.8), ("dp-ie-gaussian", HIDDEN, 0.79)):
        some.append(attack_record(defense, "unmix", leak, dataset="sst2", attacker="current", **trained))
        some.append(utility_record(defense, accuracy, **trained))
    _, todo = said(some)
    assert "(encoder fine-tuned) is the best of what was tried" in todo
    assert "clients send its gradients" not in todo
    update = attack_record("none", "span", [1.0] * 40, dataset="sst2")
    _, todo = said([*some, update.replace(attack=update.attack.replace(sees=["corpus", "updates"]))])
    assert "to train the encoder together, clients send its gradients, which give the texts away" in todo
