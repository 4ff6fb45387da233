from __future__ import annotations

import time
from pathlib import Path

import pytest

from bench.system import calibration


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(calibration, "_known", {})


def ways(called: list[str]) -> dict[str, object]:
    return {"slow": lambda: (called.append("slow"), time.sleep(0.01)), "quick": lambda: called.append("quick")}


def test_the_fastest_is_found_and_remembered_by_later_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    assert calibration.fastest("task", ways(called)) == "quick"
    assert called.count("slow") == calibration.TRIES + 1
    monkeypatch.setattr(calibration, "_known", {})  # as a new process
    assert calibration.fastest("task", ways(called)) == "quick"
    assert called.count("slow") == calibration.TRIES + 1
    calibration.fastest("another task", ways(called))
    assert called.count("slow") == 2 * (calibration.TRIES + 1)


def test_another_machine_that_shares_the_folder_measures_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    calibration.fastest("task", ways(called))
    monkeypatch.setattr(calibration, "machine", lambda: "another")
    calibration.fastest("task", ways(called))
    assert called.count("slow") == 2 * (calibration.TRIES + 1)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fastest": 3}', '{"fastest": "unknown"}'])
def test_a_damaged_note_is_made_again(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibration.fastest("task", ways([]))
    [note] = (tmp_path / "calibration").iterdir()
    right = note.read_text()
    note.write_text(text)
    monkeypatch.setattr(calibration, "_known", {})
    assert calibration.fastest("task", ways([])) == "quick"
    assert note.read_text() == right


def test_a_folder_that_cannot_be_written_costs_only_the_note(tmp_path: Path) -> None:
    (tmp_path / "calibration").write_text("a file where the folder should be")
    assert calibration.fastest("task", ways([])) == "quick"
