"""Which stored records answer a task."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.experiment import provenance
from bench.records import store
from bench.records.model import Record
from bench.scheduling.stored import StoredRecords
from bench.scheduling.tasks import AttackTask, TrainingTask
from tests.helpers.records import metric_of
from tests.helpers.tasks import attack_tasks, training_tasks


@pytest.fixture
def task() -> AttackTask:
    (found,) = attack_tasks()
    return found


def finished(task: AttackTask, **fields: Any) -> Record:
    """As a run leaves it: the code of scoring is that of the metrics it holds."""
    record = task.about.replace(metrics={"identity": metric_of(0.5)})
    return record.replace(code={**record.code, **provenance.scoring_code(record)}).replace(**fields)


def test_a_record_of_the_same_id_and_code_answers_a_task(tmp_path: Path, task: AttackTask) -> None:
    stored = StoredRecords(tmp_path)
    assert stored.find(task) is None
    record = store.save(tmp_path, finished(task))
    assert stored.find(task) == record
    assert list(stored.notes()) == []
    assert StoredRecords(tmp_path, force=True).find(task) is None
    assert StoredRecords(tmp_path, details=True).find(task) is None  # there is no parquet file beside it
    assert stored.find(AttackTask(replace(task.cell, samples=3))) is None
    assert list(stored.notes()) == ["1 record lacks the samples or details that are asked for: it is run again"]


def test_a_stale_record_is_run_again_and_one_note_names_what_changed(tmp_path: Path) -> None:
    one, two = attack_tasks(["rss"], [0, 1])
    (three,) = training_tasks()
    for task, component in ((one, "attack"), (two, "scoring"), (three, "training")):
        done = task.about.replace(metrics={"mcc": 0.5}, majority={"mcc": 0.0}) if task is three else finished(task)
        store.save(tmp_path, done.replace(code={**done.code, component: "before"}))
    stored = StoredRecords(tmp_path)
    assert stored.find(one) is None
    assert list(stored.notes()) == ["1 stale record is run again: the code of attack has changed since"]
    scoring = StoredRecords(tmp_path)
    assert scoring.find(two) is None
    assert "bench rescore" in " ".join(scoring.notes())
    assert [stored.find(task) for task in (one, two, three)] == [None] * 3
    assert list(stored.notes()) == [
        "3 stale records are run again: the code of attack, scoring, training has changed since"
    ]


def test_a_record_whose_code_the_ledger_joins_is_taken(
    tmp_path: Path, task: AttackTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench.records.ledger import Equivalence, Ledger

    entry = {"component": "attack", "from": "before", "to": task.about.code["attack"], "reason": "moved"}
    known = Ledger([Equivalence.model_validate({**entry, "agreement": "exact", "replayed": ["0" * 16]})])
    monkeypatch.setattr(provenance, "published_ledger", lambda: known)
    record = store.save(tmp_path, finished(task, code={**finished(task).code, "attack": "before"}))
    assert StoredRecords(tmp_path).find(task) == record


def test_a_failure_is_tried_again_unless_another_run_has_just_had_it(tmp_path: Path, task: AttackTask) -> None:
    began = time.time() - 1  # a file's time is that of the clock's last tick
    store.save(tmp_path, task.about.replace(status="failed", error="it broke"))
    stored = StoredRecords(tmp_path, details=True)
    assert stored.find(task) is None
    fresh = stored.find(task, began)
    assert fresh is not None
    assert fresh.status == "failed"
    assert stored.find(task, time.time() + 60) is None


def test_a_damaged_file_answers_nothing(tmp_path: Path, task: AttackTask) -> None:
    store.save(tmp_path, finished(task))
    path = store.path_of(tmp_path, task.about)
    path.write_text(path.read_text()[:100])
    assert StoredRecords(tmp_path).find(task) is None


def test_a_rerun_overwrites_its_file_and_stays_in_its_suites(tmp_path: Path) -> None:
    from bench.experiment.execute import Result

    (task,) = training_tasks()
    stored = StoredRecords(tmp_path)
    store.save(tmp_path, task.about.replace(suites={"old": 2}, status="failed", error="it broke"))
    tagged = TrainingTask(replace(task.trial, suite=("new", 1)), task.head)
    stored.save(tagged, Result(task.about.replace(metrics={"mcc": 0.5}, majority={"mcc": 0.0})))
    (record,) = store.read_all(tmp_path)
    assert record.status == "ok"
    assert record.suites == {"old": 2, "new": 1}


def test_a_stored_record_joins_the_suite_that_now_names_it(tmp_path: Path, task: AttackTask) -> None:
    stored = StoredRecords(tmp_path)
    record = store.save(tmp_path, finished(task, suites={"old": 2}))
    tagged = AttackTask(replace(task.cell, suite=("new", 1)))
    assert stored.adopt(record, tagged).suites == {"old": 2, "new": 1}
    assert store.read_all(tmp_path)[0].suites == {"old": 2, "new": 1}
