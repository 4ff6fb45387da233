"""Runs in this process: what is taken from the folder, what is run, and what becomes of failures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bench.errors import BenchError, DataError, Interrupted
from bench.experiment import utility
from bench.experiment.cells import trials
from bench.plugins.registry import Registry
from bench.records import store
from bench.records.model import Record
from bench.scheduling import runner
from bench.scheduling.progress import Progress
from bench.scheduling.settings import RunSettings
from bench.scheduling.tasks import AttackTask, TrainingTask
from bench.training.frozen import Training
from tests.helpers.tasks import FILES, attack_tasks, training_tasks


class Notes(Progress):
    """Progress that is remembered and not shown."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@dataclass
class Measured:
    """Stands in for training; counts what was trained."""

    trained: list[str]
    error: Exception | None = None

    def __call__(self, trial: Any, training: Training, **options: Any) -> dict[str, Any]:
        self.trained.append(trial.defense.label)
        if self.error:
            raise self.error
        return {"metrics": {"mcc": 0.5}, "majority": {"mcc": 0.0}, "held_out": {}, "notes": {}, "seconds": 1.5}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    found = Measured([])
    monkeypatch.setattr(utility, "measure", found)
    return found


def test_attacks_and_training_run_in_one_go_and_are_taken_from_the_folder_the_next_time(
    tmp_path: Path, measured: Measured
) -> None:
    tasks = [*attack_tasks(["rss", "rss:top=2"]), *training_tasks(["none", "mix-only"])]
    records, errors = runner.run(tasks, RunSettings(out=tmp_path), Progress(quiet=True))
    assert [record.id for record in records] == [task.about.id for task in tasks]
    assert {record.status for record in records} == {"ok"}
    assert errors == []
    assert measured.trained == ["none", "mix-only"]
    assert sorted(record.id for record in store.read_all(tmp_path)) == sorted(record.id for record in records)
    notes = Notes()
    assert runner.run(tasks, RunSettings(out=tmp_path), notes)[0] == records
    assert notes.notes == ["4 of 4 tasks are on record; 0 to run"]
    assert len(measured.trained) == 2
    runner.run(tasks[2:], RunSettings(out=tmp_path, force=True), Progress(quiet=True))
    assert len(measured.trained) == 4


def test_training_that_fails_is_a_record_with_its_reason_and_is_tried_again(tmp_path: Path, measured: Measured) -> None:
    tasks = training_tasks(["none", "mix-only"])
    measured.error = DataError("all train labels are the same: there is nothing to learn")
    for _ in range(2):
        records, errors = runner.run(tasks, RunSettings(out=tmp_path), Progress(quiet=True))
        assert [record.status for record in records] == ["failed", "failed"]
        assert records[0].error == "all train labels are the same: there is nothing to learn"
        assert errors == []
        assert len(store.read_all(tmp_path)) == 2
    assert len(measured.trained) == 4
    measured.error = None
    records, _ = runner.run(tasks, RunSettings(out=tmp_path), Progress(quiet=True))
    assert [(record.status, record.error) for record in records] == [("ok", None)] * 2
    assert records[0].cost.train_s == 1.5


def test_a_bug_in_a_defense_fails_its_training_run_and_a_full_disk_ends_the_run(
    tmp_path: Path, measured: Measured
) -> None:
    measured.error = ZeroDivisionError("division by zero")
    ((record,), _) = runner.run(training_tasks(), RunSettings(out=tmp_path), Progress(quiet=True))
    assert record.error == "ZeroDivisionError: division by zero"
    measured.error = OSError(28, "No space left on device")
    with pytest.raises(BenchError, match=r"No space left on device.*the same command goes on"):
        runner.run(training_tasks(), RunSettings(out=tmp_path), Progress(quiet=True))


def test_utility_is_trained_once_for_all_attacks_on_a_defense_and_stands_in_their_records(
    tmp_path: Path, measured: Measured
) -> None:
    tasks = attack_tasks(["rss", "rss:top=2"], [0], ["none", "mix-only"])
    settings = RunSettings(out=tmp_path, utility=True)
    records, _ = runner.run(tasks, settings, Progress(quiet=True))
    assert measured.trained == ["none", "mix-only"]
    for record in records:
        assert record.utility is not None
        assert record.utility.metrics == {"mcc": 0.5}
    kept = {record.id: record for record in store.read_all(tmp_path)}
    assert [kept[record.id] for record in records] == records
    assert records[0].utility.id in kept  # type: ignore[union-attr]
    assert runner.run(tasks, settings, Progress(quiet=True))[0] == records
    assert len(measured.trained) == 2


def test_a_cell_whose_utility_cannot_be_measured_is_still_a_result(tmp_path: Path, measured: Measured) -> None:
    measured.error = DataError("nothing to learn")
    notes = Notes()
    ((record,), errors) = runner.run(attack_tasks(), RunSettings(out=tmp_path, utility=True), notes)
    assert (record.status, record.utility, errors) == ("ok", None, [])
    assert "mix-only × rss: no utility: nothing to learn" in notes.notes


def test_stale_records_are_run_again_with_one_note_and_overwritten(tmp_path: Path, measured: Measured) -> None:
    tasks = training_tasks(["none", "mix-only"])
    for task in tasks:
        code = {**task.about.code, "training": "before"}
        store.save(tmp_path, task.about.replace(code=code, metrics={"mcc": 0.4}, majority={"mcc": 0.0}))
    notes = Notes()
    records, _ = runner.run(tasks, RunSettings(out=tmp_path), notes)
    assert notes.notes[0] == "2 stale records are run again: the code of training has changed since"
    assert [record.metrics for record in records] == [{"mcc": 0.5}] * 2
    assert store.read_all(tmp_path) == sorted(records, key=lambda record: record.defense.name)


def test_a_task_that_cannot_be_described_is_an_error_and_the_others_run(tmp_path: Path, measured: Measured) -> None:
    (good,) = training_tasks()
    (tmp_path / "train.csv").write_text("text,label\n" + "".join(f"text {i},{i % 2}\n" for i in range(10)))
    axes = {"dataset": [f"file:{tmp_path / 'train.csv'}"], "encoder": ["toy"], "defense": ["none"]}
    (bad,) = trials(Registry(FILES), axes)  # too few for a dev split
    tasks = [TrainingTask(bad), good]
    records, errors = runner.run(tasks, RunSettings(out=tmp_path), Progress(quiet=True))
    assert [record.id for record in records] == [good.about.id]
    (error,) = errors
    assert "dev" in str(error)


def test_of_a_cell_that_is_named_twice_the_one_that_keeps_more_is_run(tmp_path: Path) -> None:
    (task,) = attack_tasks()
    more = AttackTask(replace(task.cell, samples=3, answers=True))
    for order in ([task, more], [more, task]):
        records, _ = runner.run(order, RunSettings(out=tmp_path, force=True), Progress(quiet=True))
        assert [len(record.samples or []) for record in records] == [3, 3]


def test_a_disk_that_fills_up_ends_the_run_with_whole_files_and_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, saved = store.save, []

    def save(folder: Path, record: Record) -> Record:
        if saved:
            raise OSError(28, "No space left on device")
        saved.append(record.id)
        return honest(folder, record)

    monkeypatch.setattr(store, "save", save)
    with pytest.raises(BenchError, match=r"No space left on device.*the same command goes on"):
        runner.run(attack_tasks(["rss", "rss:top=2"]), RunSettings(out=tmp_path), Progress(quiet=True))
    assert [record.id for record in store.read_all(tmp_path)] == saved
    assert not (tmp_path / ".locks").exists()


def test_ctrl_c_hands_over_what_is_finished(
    tmp_path: Path, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def second(trial: Any, training: Training, **options: Any) -> dict[str, Any]:
        if measured.trained:
            raise KeyboardInterrupt
        return measured(trial, training, **options)

    monkeypatch.setattr(utility, "measure", second)
    with pytest.raises(Interrupted) as caught:
        runner.run(training_tasks(["none", "mix-only"]), RunSettings(out=tmp_path), Progress(quiet=True))
    assert caught.value.total == 2
    assert [record.defense.name for record in caught.value.done] == ["none"]
    assert store.read_all(tmp_path) == caught.value.done
    assert not (tmp_path / ".locks").exists()
