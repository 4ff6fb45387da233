"""Units of tasks that share a release, and how they travel to workers; without a process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.errors import BenchError
from bench.experiment import setup
from bench.experiment.cells import Cell
from bench.experiment.execute import Scenes
from bench.isolation.process import Limits
from bench.plugins.registry import Registry
from bench.records.model import UtilityRecord
from bench.scheduling import units
from bench.scheduling.tasks import AttackTask, PickledTask, TrainingTask, noun
from bench.scheduling.units import RunContext, Unit
from bench.training.frozen import Training
from tests.helpers.cli import PLUGINS
from tests.helpers.tasks import FILES, attack_tasks, training_tasks

SOURCES = tuple((path, Path(path).read_text()) for path in FILES)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The attacks for whose sake a scene was built."""
    found: list[str] = []
    honest: Callable[..., setup.CellSetup] = setup.build

    def build(cell: Cell, **options: object) -> setup.CellSetup:
        found.append(cell.attack.label)
        return honest(cell, **options)

    monkeypatch.setattr(setup, "build", build)
    return found


def test_tasks_on_one_release_make_a_unit_and_are_split_only_for_want_of_units() -> None:
    some = attack_tasks(["rss", "rss:top=2", "rss:top=3"], [0, 1])
    assert [len(unit.tasks) for unit in units.group(some, 1)] == [3, 3]
    assert [len(unit.tasks) for unit in units.group(some, 2)] == [3, 3]
    assert sorted(len(unit.tasks) for unit in units.group(some, 4)) == [1, 1, 2, 2]
    assert [len(unit.tasks) for unit in units.group(some, 99)] == [1] * 6
    apart = attack_tasks(["rss"], [0], ["mix-only", "mix-only:k=2"]) + attack_tasks(["rss"], [1])
    assert len(units.group(apart, 1)) == 3


def test_training_runs_are_units_of_their_own_beside_attacks() -> None:
    mixed = [*attack_tasks(["rss", "rss:top=2"]), *training_tasks(["none", "mix-only"])]
    assert [len(unit.tasks) for unit in units.group(mixed, 1)] == [2, 1, 1]
    assert (noun(mixed), noun(mixed[:2]), noun(mixed[2:])) == ("tasks", "cells", "training runs")


def test_a_release_is_made_once_for_all_attacks_on_it_but_an_oracle_is_never_shared(built: list[str]) -> None:
    scenes = Scenes()
    some = attack_tasks(["rss", "rss:top=2", "asks", "asks", "rss:top=3"])
    releases = [scenes.get(task.cell, task.about, "cpu", lambda text: None, None).release for task in some]
    assert built == ["rss", "asks", "asks"]
    for release in releases:
        assert np.array_equal(release.encodings, releases[0].encodings)
    (other,) = attack_tasks(["rss"], [1])
    assert scenes.get(other.cell, other.about, "cpu", lambda text: None, None).release is not releases[-1]


def test_a_worker_that_outlives_a_run_makes_the_next_ones_release_anew(built: list[str]) -> None:
    unit = Unit(tuple(attack_tasks(["rss", "rss:top=2"])))
    for name in ("first", "second"):  # the defense may have been edited between them
        context = RunContext(name, "cpu", Limits(), max_unit_s=60, stage=lambda text: None)
        assert len(units.run(unit, context)) == 2
    assert built == ["rss", "rss"]


def test_an_edited_plugin_keeps_the_id_and_changes_the_code(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    source = (PLUGINS / "toy.py").read_text()

    def described() -> tuple[str, str]:
        from bench.experiment import cells

        axes = {"encoder": ["toy"], "defense": ["none"], "attack": ["rss"]}
        (cell,) = cells.cells(Registry((str(mine),)), axes, {"examples": 40, "candidates": 120})
        about = AttackTask(cell).about
        return about.id, about.code["encoder"]

    mine.write_text(source)
    first = described()
    assert described() == first
    mine.write_text(source.replace("np.ones(", "2 * np.ones("))
    edited = described()
    assert edited[0] == first[0]
    assert edited[1] != first[1]


def test_an_attack_travels_pickled_and_is_made_again_by_the_worker() -> None:
    (task,) = attack_tasks(["rss:top=2"], [3])
    wanted = AttackTask(replace(task.cell, samples=2, answers=True))
    pickled = pickle.loads(pickle.dumps(wanted))
    assert isinstance(pickled, PickledTask)
    restored = pickled.restored(Registry(FILES))
    assert isinstance(restored, AttackTask)
    assert restored.about == wanted.about
    assert (restored.cell.samples, restored.cell.answers) == (2, True)


def test_a_training_run_travels_with_its_training_and_its_public_corpus() -> None:
    (trial,) = (task.trial for task in training_tasks(["texthide-inter"], [1]))
    assert trial.public is not None
    task = TrainingTask(trial, Training(epochs=3, shared=True))
    restored = pickle.loads(pickle.dumps(task)).restored(Registry(FILES))
    assert isinstance(restored, TrainingTask)
    assert restored.head == task.head
    assert restored.about == task.about


def test_a_pickled_task_is_refused_where_the_task_would_be_another() -> None:
    (task,) = attack_tasks()
    context = pickle.loads(pickle.dumps(RunContext("run", "cpu", Limits(), SOURCES, stage=print)))
    assert context.stage is None  # a callback into the process that started the run does not travel
    for about in (task.about.replace(id="0" * 16), task.about.replace(code={**task.about.code, "attack": "other"})):
        with pytest.raises(BenchError, match="give it the same hideseek"):
            units.run(Unit((PickledTask(about, {}),)), context)  # type: ignore[arg-type]


def test_a_unit_of_both_kinds_runs_in_a_worker_that_has_only_words() -> None:
    unit = Unit((*attack_tasks(), *training_tasks()))
    context = RunContext("both", "cpu", Limits(), SOURCES, max_unit_s=60)
    attacked, trained = units.run(pickle.loads(pickle.dumps(unit)), context)
    assert attacked.record.status == "ok"
    assert attacked.items is not None
    assert isinstance(trained.record, UtilityRecord)
    assert trained.record.status == "ok"
    assert trained.record.metrics["accuracy"] > 0
    assert trained.record.cost.train_s
    assert trained.record.cost.ended


def test_a_plugin_file_that_a_worker_lacks_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path))
    unit = pickle.loads(pickle.dumps(Unit(tuple(attack_tasks()))))
    elsewhere = tuple((f"/nowhere/{Path(path).name}", text) for path, text in SOURCES)
    (result,) = units.run(unit, RunContext("away", "cpu", Limits(), elsewhere))
    assert result.record.status == "ok"
    assert {path.name for path in (tmp_path / "plugins").rglob("*.py")} == {Path(path).name for path in FILES}


def test_a_unit_hands_back_what_is_finished_when_its_time_is_up() -> None:
    unit = Unit(tuple(attack_tasks(["rss", "rss:top=2"])))
    assert len(units.run(unit, RunContext("short", "cpu", Limits(), max_unit_s=0))) == 1
    assert len(units.run(unit, RunContext("long", "cpu", Limits(), max_unit_s=60))) == 2


def test_a_stopped_run_does_no_more_here_and_a_training_run_ends_between_epochs() -> None:
    seen: list[str] = []

    def stage(text: str) -> None:
        seen.append(text)
        units.stop("stopped")

    unit = Unit((*training_tasks(), *attack_tasks()))
    assert units.run(unit, RunContext("stopped", "cpu", Limits(), max_unit_s=60, stage=stage)) == []
    assert len(seen) == 1
    assert units.run(unit, RunContext("stopped", "cpu", Limits(), max_unit_s=60)) == []
