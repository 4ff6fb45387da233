"""What a submission is refused for. How one is accepted, from an installed package: tests/test_examples.py."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import ROOT
from bench.cli.submit import is_touched, refuse_cheating
from bench.errors import BenchError, UsageError
from bench.experiment import suites
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord
from tests.helpers.cli import PLUGINS
from tests.helpers.records import attack_record
from tests.helpers.sandbox import needs_sandbox

Run = Callable[..., subprocess.CompletedProcess[str]]


def sealed(**tried: Any) -> AttackRecord:
    return attack_record(attack="mine", sealed=True, salt="s", tried={"attempts": {}, "left_behind": 0, **tried})


def test_one_attempt_to_reach_beyond_the_view_is_enough() -> None:
    failed = sealed().replace(status="failed", error="it broke")
    refuse_cheating([sealed(), failed])  # a cell may fail, and is shown as failed
    refuse_cheating([sealed(), failed.replace(tried=None)])  # failed before the attack ran
    with pytest.raises(BenchError, match="mine did what an attack has no need to do \\(walked the heap\\)"):
        refuse_cheating([sealed(), sealed(attempts={"walked the heap": 3})])
    with pytest.raises(BenchError, match="left processes behind"):
        refuse_cheating([sealed(left_behind=1)])
    with pytest.raises(BenchError, match="its process ended with status 1"):
        refuse_cheating([sealed(), failed.replace(error="its process ended with status 1")])
    with pytest.raises(BenchError, match="not one cell came to an end; the first says: it broke"):
        refuse_cheating([failed, failed.replace(status="timeout")])


def test_a_changed_helper_of_a_package_is_a_changed_attack() -> None:
    attacks = Registry().of("attack").values()

    def touched(*files: str) -> set[str]:
        return {entry.name for entry in attacks if is_touched(entry, [ROOT / "attacks" / file for file in files])}

    assert touched("rss.py") == {"rss"}
    assert touched("unmix/solve.py", "braverman.py") == {"unmix", "braverman"}
    assert touched("dlg/__init__.py") == {"dlg", "dlg-blind"}
    assert touched("common/scheme.py") == set()


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
    done = bench("submit", "raises", "--plugin", str(PLUGINS / "hostile.py"), "--dry-run", timeout=300)
    assert done.returncode == 1
    assert done.stdout.count("### attack") == 1, "others of the same file are not what is submitted"
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
