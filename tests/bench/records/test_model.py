"""What a record takes and refuses."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pydantic import ValidationError

from bench.records.model import AttackRecord, Metric, Record, UtilityRecord
from bench.system.validation import explain
from tests.helpers.records import bare_record


def utility_record(**changes: Any) -> UtilityRecord:
    about = bare_record().to_dict()
    kept = {name: about[name] for name in Record.model_fields if name in about}
    return UtilityRecord.model_validate({**kept, "training": {"epochs": 3}, **changes})


def test_numbers_are_rounded_and_what_json_lacks_is_replaced() -> None:
    metric = Metric(value=0.12345678949, low=float("nan"), high=float("inf"))
    assert metric.to_dict() == {
        "value": 0.123456789,
        "low": None,
        "high": "inf",
        "random": None,
        "random_low": None,
        "random_high": None,
    }


def test_options_are_not_rounded() -> None:
    record = bare_record(defense={"name": "noise", "label": "noise", "options": {"delta": 1e-12}})
    assert record.defense.options == {"delta": 1e-12}


def test_a_copy_is_checked() -> None:
    record = bare_record()
    assert record.replace(status="failed", error="too slow").error == "too slow"
    with pytest.raises(ValidationError):
        record.replace(status="fine")


def test_a_record_comes_back_from_its_file_as_it_was() -> None:
    record = bare_record(metrics={"recall": {"value": 0.5, "low": 0.4, "high": 0.6}}, suites={"main": 2})
    assert AttackRecord.model_validate(record.to_dict()) == record
    assert record.to_dict()["schema"] == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": "zero"}, "seed = 'zero': a whole number was expected"),
        ({"status": "fine"}, "status = 'fine': "),
        ({"sead": 1}, "sead = 1: unknown key"),
        ({"metrics": {"recall": {"value": 7.5}}}, "metrics.recall: a share between 0 and 1 was expected"),
        ({"metrics": {"mse": {"value": 1e301}}}, "metrics.mse.value = 1e+301: a number that could have been measured"),
        ({"metrics": {"recall": {"value": "often"}}}, "metrics.recall.value = 'often': "),
        ({"suites": {"../main": 1}}, "the name of a suite was expected"),
        (
            {"guess": {"kind": "rumour"}},
            "guess.kind = 'rumour': one of ranking, vectors, texts, images, readings, written was expected",
        ),
        ({"outcomes": {"metric": "recall", "values": "!"}}, "values are not base64"),
        ({"outcomes": {"metric": "recall", "values": base64.b64encode(b"abc").decode()}}, "values are cut"),
        ({"notes": {"accounted": {"epsilon": 3.0}}}, "an accounted ε needs the nominal one beside it"),
        ({"protocol": {"examples": "100"}}, "protocol.examples = '100': a whole number was expected (and 4 more)"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        bare_record(**changes)
    line = explain(caught.value)
    assert said in line
    assert "\n" not in line


def test_a_missing_key_is_named() -> None:
    about = bare_record().to_dict()
    del about["dataset"]["fingerprint"]
    with pytest.raises(ValidationError) as caught:
        AttackRecord.model_validate(about)
    assert explain(caught.value) == "dataset.fingerprint: is missing"


def test_utility_needs_the_constant_answer_beside_every_metric() -> None:
    with pytest.raises(ValidationError, match="f1 is missing"):
        utility_record(metrics={"accuracy": 0.9, "f1": 0.8}, majority={"accuracy": 0.5})


def test_a_budget_is_read_from_the_notes() -> None:
    notes = {"nominal": {"epsilon": 1.0, "delta": 1e-5}, "accounted": {"epsilon": 27.1, "delta": 1e-5}}
    record = bare_record(notes=notes)
    assert record.claimed is not None
    assert record.accounted is not None
    assert (record.claimed.epsilon, record.accounted.epsilon) == (1.0, 27.1)
    assert bare_record().accounted is None


def test_seconds_of_a_cell_are_those_of_its_parts() -> None:
    record = bare_record(cost={"release_s": 0.5, "attack_s": 2.0, "score_s": None, "peak_mib": 100.0})
    assert record.cost.seconds == 2.5


def test_what_a_constant_answer_reaches_is_rounded_like_any_number() -> None:
    record = utility_record(metrics={"accuracy": 2 / 3}, majority={"accuracy": 1 / 3})
    assert (record.metrics["accuracy"], record.majority["accuracy"]) == (0.666666667, 0.333333333)
