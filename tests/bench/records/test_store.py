"""Records on disk."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from bench.errors import BenchError, DataError
from bench.records import store
from bench.records.model import AttackRecord, UtilityRecord
from tests.helpers.records import bare_record


def record(**changes: Any) -> AttackRecord:
    return bare_record(seed=3, **changes)


def test_a_record_is_found_by_what_it_is(tmp_path: Path) -> None:
    store.save(tmp_path, record())
    path = tmp_path / "demo.minilm.none.rss.s3.0123456789abcdef.json"
    assert store.parse(path) == record()
    about = {name: value for name, value in record().to_dict().items() if name in UtilityRecord.model_fields}
    trained = UtilityRecord.model_validate({**about, "training": {"epochs": 2}, "metrics": {}})
    store.save(tmp_path, trained)
    assert store.read_all(tmp_path) == [record(), trained]


def test_a_suite_is_added_once() -> None:
    named = store.for_suite(record(suites={"smoke": 1}), ("main", 2))
    assert named.suites == {"smoke": 1, "main": 2}
    assert store.for_suite(named, ("main", 2)) is named
    assert store.for_suite(named, None) is named


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Expecting"),
        ("[]", "not a record"),
        ('{"schema": 1}', "a record of schema 1; this version reads 2"),
        ('{"schema": 2}', "is missing"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_what_is_no_record_is_said_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"some\.json") as caught:
        store.parse(path)
    assert said in str(caught.value)


def test_a_damaged_record_is_left_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store.save(tmp_path, record())
    about = record(id="fedcba9876543210").to_dict()
    about["protocol"]["examples"] = "100"
    (tmp_path / "edited.json").write_text(json.dumps(about), encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert store.read_all(tmp_path) == [record()]
    assert "edited.json: protocol.examples = '100': a whole number was expected: left out" in caplog.text


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no such folder"):
        store.read_all(tmp_path / "none")


def test_versions_name_libraries_and_processor() -> None:
    found = store.versions()
    assert {"python", "numpy", "torch", "processor"} <= found.keys()
    assert found["processor"]
