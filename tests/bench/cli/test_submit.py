"""What a submission is refused for. How one is accepted, from an installed package: tests/test_examples.py."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import ROOT
from bench.cli.submit import _publish, is_touched, refuse_cheating
from bench.errors import BenchError, UsageError
from bench.experiment import suites
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord
from tests.helpers.cli import PLUGINS, load_records
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


@needs_sandbox
@pytest.mark.slow
def test_a_dry_run_ends_with_its_numbers_and_leaves_the_board_as_it_is(bench: Run, tmp_path: Path) -> None:
    suite = tmp_path / "tiny.toml"
    suite.write_text(
        'dataset = "kept-demo"\nencoder = "toy"\ndefense = ["none", "texthide"]\nexamples = 40\ncandidates = 120\n'
        'attack = ["rss"]\nepochs = 1\ncoverage = 1.0\nsplit = "train"\n'
    )
    board = tmp_path / "board"
    words = ("--plugin", str(PLUGINS / "toy.py"), "--suite", str(suite), "--board", str(board), "--dry-run")
    done = bench("submit", "rss", *words)
    assert done.returncode == 0, done.stderr
    _, _, end = done.stdout.partition("4/4 tables\n")
    records = load_records(tmp_path / "home" / "results")
    assert {record["status"] for record in records.values()} == {"ok"}
    shown = {line.split()[0]: line.split() for line in end.splitlines() if " rss " in line}
    assert set(shown) == {"none", "texthide"}
    for record in records.values():
        recall = record["metrics"]["recall"]
        row = shown[record["defense"]["label"]]
        assert row[1:5] == ["rss", "recall", f"{recall['value']:.3f}", f"{recall['random']:.3f}"]
    assert "40 private examples among 120 candidates" in end
    assert end.splitlines()[-2].startswith("accepted: 2 records (0 failed), ")
    assert end.splitlines()[-1] == "dry run: the board was left as it is"
    assert not board.exists()


def test_a_failed_cell_is_shown_below_the_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.board.known.cells", list)
    failed = sealed().replace(status="failed", error="it broke", seed=1)
    assert _publish([sealed(), failed], tmp_path / "board", Registry(), dry=True) == 0
    said = capsys.readouterr().out
    assert "recall 0.750" in said
    assert "failed: none × mine seed 1: it broke" in said
    assert "accepted: 2 records (1 failed)" in said
    assert not (tmp_path / "board").exists()
