"""What a submission is refused for. How one is accepted, from an installed package: tests/test_examples.py."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.cli import submit
from bench.errors import BenchError, UsageError
from bench.experiment import suites
from bench.plugins.registry import Registry
from tests.helpers.cli import PLUGINS
from tests.helpers.sandbox import needs_sandbox

Run = Callable[..., subprocess.CompletedProcess[str]]


def record(status: str = "ok", attempts: dict[str, int] | None = None, left_behind: int = 0) -> dict[str, Any]:
    about = {"status": status, "attack": {"label": "mine"}, "error": None if status == "ok" else "it broke"}
    return {**about, "sealed": True, "tried": {"attempts": attempts or {}, "left_behind": left_behind}}


def test_one_attempt_to_reach_beyond_the_view_is_enough() -> None:
    submit._refuse([record(), record("failed")])  # a cell may fail, and is shown as failed
    with pytest.raises(BenchError, match="no need to do \\(walked the heap\\)"):
        submit._refuse([record(), record(attempts={"walked the heap": 3})])
    with pytest.raises(BenchError, match="left processes behind"):
        submit._refuse([record(left_behind=1)])
    with pytest.raises(BenchError, match="its process ended with status 1"):
        submit._refuse([record(), {**record("failed"), "error": "its process ended with status 1"}])
    unstarted = {key: value for key, value in record("failed").items() if key != "tried"}
    submit._refuse([record(), unstarted])  # failed before the attack ran
    with pytest.raises(BenchError, match="not one cell came to an end; the first says: it broke"):
        submit._refuse([record("failed"), record("timeout")])


def test_an_attack_is_run_on_the_kinds_of_data_that_it_works_on(tmp_path: Path) -> None:
    registry = Registry((str(PLUGINS / "flawed.py"),))

    def data(*attacks: str) -> set[tuple[str, str]]:
        cells = suites.from_suite(registry, "submission", attacks=attacks)
        return {(cell.attack.name, cell.dataset.name) for cell in cells}

    assert data("rss") == {("rss", "demo")}
    assert data("flawed-eye", "rss") == {("flawed-eye", "digits"), ("rss", "demo")}
    assert data("dlg") == {("dlg", "demo"), ("dlg", "digits")}
    words = tmp_path / "words.toml"
    words.write_text('dataset = "demo"\ndefense = "none"\nattack = "rss"\n')
    with pytest.raises(UsageError, match="no cell for flawed-eye"):
        suites.from_suite(registry, str(words), attacks=["flawed-eye"])


@needs_sandbox
def test_an_attack_that_does_not_conform_is_refused_before_it_is_run(bench: Run, tmp_path: Path) -> None:
    done = bench("submit", "raises", "--plugin", str(PLUGINS / "hostile.py"), "--dry-run")
    assert done.returncode == 1
    assert "✗ paper" in done.stdout
    assert "refused: raises does not pass its checks" in done.stderr
    assert "2/4" not in done.stdout
    assert not (tmp_path / "home" / "results").exists()


@needs_sandbox
def test_a_typo_and_a_folder_without_history(bench: Run) -> None:
    typo = bench("submit", "rsss", "--dry-run")
    assert typo.returncode == 2
    assert "did you mean 'rss'?" in typo.stderr
    nowhere = bench("submit", "--dry-run")
    assert nowhere.returncode == 2
    assert "name the attacks to submit" in nowhere.stderr
