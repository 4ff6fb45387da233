"""What a record says of itself must agree."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.experiment import integrity
from bench.experiment.identity import identity
from bench.records import store
from bench.records.model import AttackRecord, Record
from tests.helpers.cli import ROOT
from tests.helpers.records import attack_record, failed_record, metric_of, utility_record

PUBLISHED = ROOT / "leaderboards" / "records"
SALT = "ab" * 32


def identified(record: Record) -> Record:
    return record.replace(id=identity(record.to_dict()))


@pytest.mark.parametrize(
    "record",
    [
        attack_record(),
        attack_record("texthide:m=16,k=2", leak=np.linspace(0, 1, 37), epochs=3),
        attack_record(leak=[np.nan, 1, 0], protocol={"coverage": 0.5}, metrics={"recall": metric_of(0.5)}),
        attack_record(sealed=True, salt=SALT),
        failed_record(),
        failed_record(sealed=True, salt=None),
        utility_record("none", 0.9),
        utility_record("none", None),
    ],
)
def test_what_a_run_leaves_has_no_problem(record: Record, tmp_path: Path) -> None:
    if record.sealed if isinstance(record, AttackRecord) else False:
        record = identified(record)
    store.save(tmp_path, record)
    files = store.read_files(tmp_path)
    assert integrity.check_folder(tmp_path, files) == []
    assert len(integrity.usable(files, [])) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "invented"}, "16 hexadecimal digits"),
        ({"id": "0" * 16}, "is not that of what was asked"),
        ({"seed": 7}, "is not that of what was asked"),
        (
            {"protocol": {"examples": 4, "epochs": 1, "candidates": 9, "coverage": 1.0, "split": "train"}},
            "what was asked",
        ),
        ({"defense": {"name": "none", "label": "texthide", "options": {}}}, "defense.label 'texthide'"),
        ({"metrics": {"identity": metric_of(0.0), "recall": metric_of(0.0)}}, "not the mean of its outcomes"),
        ({"metrics": {"identity": {"value": 0.5, "low": 0.6, "high": 0.7}}}, "low 0.6 ≤ value 0.5"),
        ({"metrics": {}}, "status ok without metrics"),
        ({"outcomes": None}, "no outcomes per example, which metrics.recall"),
        ({"outcomes": {"metric": "recall", "values": "ADwAPAA8"}}, "outcomes of 3 examples, of 4"),
        ({"outcomes": {"metric": "recall", "values": "AEAAQABAAEA="}}, "shares between 0 and 1"),
        ({"outcomes": {"metric": "success", "values": "ADwAPAA8ADw="}}, "of which there is no metric"),
        ({"cost": {"ended": "2999-01-01T00:00:00Z"}}, "lies in the future"),
        ({"cost": {"ended": "yesterday"}}, "a time such as"),
        ({"cost": {"attack_s": -1.0}}, "lies below 0"),
        ({"suites": {"main": 999999}}, "suites.main 999999 is no version"),
        ({"suites": {"mine": 0}}, "versions begin with 1"),
        ({"salt": SALT}, "not sealed, with a salt"),
        ({"error": "it broke"}, "status ok with an error"),
        ({"status": "failed"}, "status failed with no error"),
    ],
)
def test_every_contradiction_is_found(changes: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in integrity.problems(attack_record().replace(**changes)))


def test_a_sealed_record_has_a_salt_of_its_form() -> None:
    sealed = identified(attack_record().replace(sealed=True, salt=SALT))
    assert integrity.problems(sealed) == []
    assert integrity.problems(sealed.replace(salt=None)) == ["sealed without a salt"]
    assert integrity.problems(sealed.replace(salt="short")) == ["salt: 64 hexadecimal digits were expected"]


def test_a_clock_may_be_somewhat_ahead() -> None:
    def ended(after: float) -> AttackRecord:
        return attack_record(ended=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + after)))

    assert integrity.problems(ended(integrity.CLOCK / 2)) == []
    assert integrity.problems(ended(integrity.CLOCK * 2)) != []


def test_the_mean_counts_items_where_the_corpus_lacks_some() -> None:
    """Of an example with two encodings one may not count: the mean over items lies between what weights allow."""
    values = [np.nan, 1.0, 0.0, 0.0]
    some = attack_record(leak=values, epochs=2, protocol={"coverage": 0.5})
    for mean, fine in {1 / 3: True, 0.5: True, 0.25: True, 0.2: True, 0.15: False, 0.6: False}.items():
        record = some.replace(metrics={"recall": metric_of(mean)})
        assert (integrity.problems(record) == []) == fine, mean
    assert integrity.problems(attack_record(leak=values[1:]).replace(metrics={"recall": metric_of(0.5)})) != []


def test_surplus_reconstructions_are_wrong_and_belong_to_no_example() -> None:
    found = attack_record(metric="success", leak=[1.0, 1.0], details={"reconstructed": 4})
    assert integrity.problems(found.replace(metrics={"success": metric_of(0.5)})) == []
    assert integrity.problems(found) != []  # 1.0


def test_files_are_named_after_their_records_and_ids_are_unique(tmp_path: Path) -> None:
    record = attack_record()
    store.save(tmp_path, record)
    path = store.path_of(tmp_path, record)
    copy = tmp_path / path.name.replace("s0", "s1")
    copy.write_bytes(path.read_bytes())
    found = integrity.check_folder(tmp_path, store.read_files(tmp_path))
    assert {problem.path for problem in found} == {copy}
    assert "a second file of the id" in str(found)
    assert f"is called {path.name}" in str(found)


def test_utility_beside_an_attack_is_that_of_the_record_it_names(tmp_path: Path) -> None:
    trained = utility_record("none", 0.9)
    for value, count in ((0.9, 0), (0.8, 1)):
        store.save(tmp_path, attack_record(utility={"metrics": {"accuracy": value}, "id": trained.id}))
        store.save(tmp_path, trained)
        assert len(integrity.check_folder(tmp_path, store.read_files(tmp_path))) == count


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="there are no published records here")
def test_every_published_record_agrees_with_itself_in_seconds() -> None:
    files = store.read_files(PUBLISHED)
    start = time.process_time()
    assert integrity.check_folder(PUBLISHED, files) == []
    # Ten thousand in ten seconds, reading not counted, on a busy machine.
    assert time.process_time() - start < max(2.0, len(files) / 1000)


def test_a_label_lists_options_in_order(tmp_path: Path) -> None:
    options = {"m": 16, "k": 4, "public": "", "names": ["a", "b"]}
    for label, fits in {
        "texthide": True,
        "texthide:m=16": True,
        "texthide:m=16,k=4": True,
        "texthide:m=16,names=('a', 'b')": True,
        "texthide:k=4,m=16": False,
        "texthide:m=17": False,
        "texthide:m=16,": False,
        "other:m=16": False,
    }.items():
        record = attack_record().replace(defense={"name": "texthide", "label": label, "options": options})
        assert any("label" in problem for problem in integrity.problems(record)) != fits, label


def test_json_of_verify_names_the_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bench.cli.main import main

    store.save(tmp_path, attack_record(dataset="demo", ended="2999-01-01T00:00:00Z"))
    assert main(["records", "verify", "--json", "--results", str(tmp_path)]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row["problems"] == ["cost.ended 2999-01-01T00:00:00Z lies in the future"]
