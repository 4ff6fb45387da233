"""Units and locks, without a process."""

from __future__ import annotations

import os
import pickle
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.errors import BenchError
from bench.experiment import cells as planned
from bench.experiment import identity, setup
from bench.experiment.execute import Scenes, blank
from bench.isolation.process import Limits
from bench.plugins.registry import Registry
from bench.records import store
from bench.scheduling import runner, units
from bench.scheduling.estimates import Costs, Forecast
from bench.scheduling.progress import Progress
from bench.system.locks import Locks
from tests.helpers.cli import PLUGINS

FILES = (str(PLUGINS / "toy.py"), str(PLUGINS / "hostile.py"))


def tasks(attacks: list[str], seeds: list[int], defenses: list[str] | None = None) -> list[units.Task]:
    axes = {"encoder": ["toy"], "defense": defenses or ["mix-only"], "attack": attacks, "seed": seeds}
    cells = planned.cells(Registry(FILES), axes, {"examples": 40, "candidates": 120})
    return [(cell, identity.describe(cell)) for cell in cells]


def test_cells_on_one_release_make_a_unit_and_are_cut_only_for_want_of_units() -> None:
    some = tasks(["rss", "rss:top=2", "rss:top=3"], [0, 1])
    assert [len(unit.tasks) for unit in units.units(some, 1)] == [3, 3]
    assert [len(unit.tasks) for unit in units.units(some, 2)] == [3, 3]
    assert sorted(len(unit.tasks) for unit in units.units(some, 4)) == [1, 1, 2, 2]
    assert [len(unit.tasks) for unit in units.units(some, 99)] == [1] * 6
    apart = tasks(["rss"], [0], ["mix-only", "mix-only:k=2"]) + tasks(["rss"], [1])
    assert len(units.units(apart, 1)) == 3


def test_a_release_is_made_once_for_all_attacks_on_it_but_an_oracle_is_never_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[str] = []
    honest = setup.build
    monkeypatch.setattr(setup, "build", lambda cell, **k: built.append(cell.attack.label) or honest(cell, **k))
    scenes = Scenes()
    some = tasks(["rss", "rss:top=2", "asks", "asks", "rss:top=3"], [0])
    releases = [scenes.get(cell, about, "cpu", lambda text: None, None).release for cell, about in some]
    assert built == ["rss", "asks", "asks"]
    for release in releases:
        assert np.array_equal(release.encodings, releases[0].encodings)
    ((cell, about),) = tasks(["rss"], [1])
    assert scenes.get(cell, about, "cpu", lambda text: None, None).release is not releases[-1]


def test_a_worker_that_outlives_a_run_makes_the_next_ones_release_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    honest = setup.build
    monkeypatch.setattr(setup, "build", lambda cell, **k: built.append(cell.attack.label) or honest(cell, **k))
    unit = units.Unit(tuple(tasks(["rss", "rss:top=2"], [0])))
    for name in ("first", "second"):  # the defense may have been edited between them
        jobs = units.Job(name, "cpu", Limits(), patience_s=60, stage=lambda text: None)
        assert len(units.run(unit, jobs)) == 2
    assert built == ["rss", "rss"]


def test_an_edited_plugin_is_another_cell_though_this_process_knew_the_old_one(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    source = (PLUGINS / "toy.py").read_text()

    def described() -> str:
        axes = {"encoder": ["toy"], "defense": ["none"], "attack": ["rss"]}
        (cell,) = planned.cells(Registry((str(mine),)), axes, {"examples": 40, "candidates": 120})
        found: str = identity.describe(cell)["id"]
        return found

    mine.write_text(source)
    first = described()
    assert described() == first
    mine.write_text(source + "# edited\n")
    assert described() != first


def test_what_another_run_has_just_done_counts_however_it_ended(tmp_path: Path) -> None:
    ((cell, about),) = tasks(["rss"], [0])
    settings = runner.Settings(out=tmp_path, details=True)
    began = time.time()
    store.save(tmp_path, {**blank(about), "status": "failed", "error": "it broke"})
    assert runner.known(settings, about, cell) is None  # a failure of an earlier run is tried again
    fresh = runner.known(settings, about, cell, began)
    assert fresh is not None
    assert fresh["status"] == "failed"
    assert runner.known(settings, about, cell, time.time() + 60) is None


def test_of_a_cell_that_is_named_twice_the_one_that_keeps_more_is_run() -> None:
    ((cell, about),) = tasks(["rss"], [0])
    more = replace(cell, samples=3, answers=True)
    assert runner._demanding(more, (cell, about)) is more
    assert runner._demanding(cell, (more, about)) is more
    assert runner._demanding(cell, None) is cell


def test_a_unit_travels_as_words_and_is_refused_where_the_cell_would_be_another() -> None:
    unit = pickle.loads(pickle.dumps(units.Unit(tuple(tasks(["rss:top=2"], [3])))))
    ((nothing, about),) = unit.tasks
    assert nothing is None
    files = tuple((path, Path(path).read_text()) for path in FILES)
    job = units.Job("run", "cpu", Limits(), files, stage=print)
    assert pickle.loads(pickle.dumps(job)).stage is None
    ((record, items),) = units.run(unit, pickle.loads(pickle.dumps(job)))
    assert record["status"] == "ok"
    assert items is not None
    assert record["attack"]["options"]["top"] == 2
    about["id"] = "0" * 16
    with pytest.raises(BenchError, match="give it the same hideseek"):
        units.run(unit, job)


def test_a_plugin_file_that_a_worker_lacks_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path))
    text = (PLUGINS / "toy.py").read_text()
    registry = units._registry((("/nowhere/toy.py", text),))
    assert Path(registry.files[0]).read_text() == text
    assert registry.get("encoder", "toy").cls == "Toy"


def test_a_unit_hands_back_what_is_finished_when_its_time_is_up() -> None:
    unit = units.Unit(tuple(tasks(["rss", "rss:top=2"], [0])))
    assert len(units.run(unit, units.Job("run", "cpu", Limits(), patience_s=0))) == 1
    assert len(units.run(unit, units.Job("run", "cpu", Limits(), patience_s=60))) == 2
    units.stop("this one")
    assert units.run(unit, units.Job("this one", "cpu", Limits(), patience_s=60)) == []


def test_a_lock_is_one_runs_alone_and_its_file_goes_with_it(tmp_path: Path) -> None:
    with Locks(tmp_path) as mine, Locks(tmp_path) as other:
        assert mine.take("a")
        assert mine.take("a")
        assert not other.take("a")
        assert other.take("b")
        mine.free("a")
        assert other.take("a")
    assert not (tmp_path / ".locks").exists()


def test_a_lock_file_that_a_killed_run_left_is_tidied_away(tmp_path: Path) -> None:
    (tmp_path / ".locks").mkdir()
    (tmp_path / ".locks" / "dead").touch()
    with Locks(tmp_path) as locks:
        assert locks.take("dead")
    assert not (tmp_path / ".locks").exists()


def test_a_file_that_was_removed_between_opening_and_locking_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    honest, removed = fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if not removed:
            removed.append(True)
            (tmp_path / ".locks" / "a").unlink()  # the holder before us ends just now
        honest(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with Locks(tmp_path) as locks, Locks(tmp_path) as other:
        assert locks.take("a")
        assert not other.take("a")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_locked_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(BenchError, match="cannot lock"):
        Locks(tmp_path).take("a")


def test_a_disk_that_fills_up_ends_the_run_with_whole_files_and_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, saved = store.save, []

    def save(folder: Path, record: store.Record) -> store.Record:
        if saved:
            raise OSError(28, "No space left on device")
        saved.append(record["id"])
        return honest(folder, record)

    monkeypatch.setattr(store, "save", save)
    cells = [cell for cell, _ in tasks(["rss", "rss:top=2"], [0])]
    with pytest.raises(BenchError, match=r"No space left on device.*the same command goes on"):
        runner.run(cells, runner.Settings(out=tmp_path), Progress(quiet=True))
    assert [record["id"] for record in store.read_all(tmp_path)] == saved
    assert not (tmp_path / ".locks").exists()


def test_time_is_judged_by_the_same_cell_elsewhere_then_by_the_same_attack(tmp_path: Path) -> None:
    (_, exact), (_, near) = tasks(["rss"], [0], ["mix-only", "texthide"])
    ((_, far),) = tasks(["asks"], [0])

    def stored(about: dict[str, Any], seconds: float) -> dict[str, Any]:
        return {**about, "metrics": {}, "cost": {"attack_s": seconds, "peak_mib": 50.0}}

    assert Costs(tmp_path).of(exact) is None
    assert Forecast([exact], Costs(tmp_path)).seconds(1) is None
    for seed, seconds in enumerate((3.0, 5.0, 4.0)):
        store.save(tmp_path, stored({**exact, "seed": seed, "id": f"{seed:016x}"}, seconds))
    costs = Costs(tmp_path)
    assert [cost and cost.seconds for cost in map(costs.of, (exact, near, far))] == [4.0, 4.0, None]
    forecast = Forecast([exact, near, far], costs)
    assert forecast.seconds(1) == pytest.approx(12)  # the unknown one is taken for average
    assert forecast.seconds(2) == pytest.approx(6)
    forecast.done(stored(far, 10.0))
    assert forecast.seconds(1) == pytest.approx(8)
