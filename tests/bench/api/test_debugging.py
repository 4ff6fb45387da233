"""An attack in this process: its prints, its traceback, a debugger, and no record."""

from __future__ import annotations

import pdb
from pathlib import Path
from typing import Any

import pytest

from bench.cli.main import main
from tests.helpers.cli import TINY

MINE = """
from dataclasses import dataclass
from bench import Guess, attack

@attack("mine", sees={"encodings", "corpus", "labels"})
@dataclass(frozen=True)
class Mine:
    "Searches, or fails."

    how: str = "well"

    def run(self, view, rng):
        print("encodings:", view.encodings.shape)
        if self.how == "badly":
            raise ValueError("no idea")
        if self.how == "oddly":
            return 3
        return Guess(ranking=view.corpus.search(view.encodings, 4))
"""


@pytest.fixture
def debug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)

    def call(how: str = "well", *more: str) -> int:
        mine = ["--attack", f"mine:how={how}", "--plugin", str(tmp_path / "mine.py")]
        return main(["run", "--defense", "none", *mine, *TINY, "--debug", *more])

    return call


def test_prints_and_numbers_are_shown_and_nothing_is_recorded(
    debug: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert debug() == 0
    shown = capsys.readouterr()
    assert "encodings: (40, " in shown.out
    assert "recall 1.000  (random" in shown.out
    assert "no result, nothing is recorded" in shown.err
    assert "declared, and not used: labels" in shown.err
    assert not list(tmp_path.glob("results/*.json"))


def test_an_error_is_shown_whole(debug: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert debug("badly") == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert 'raise ValueError("no idea")' in said
    assert debug("oddly") == 1
    assert "run() returned int, not a Guess" in capsys.readouterr().err


def test_pdb_opens_where_it_failed(debug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(pdb, "post_mortem", opened.append)
    assert debug("badly", "--pdb") == 1
    (trace,) = opened
    while trace.tb_next:
        trace = trace.tb_next
    assert trace.tb_frame.f_code.co_name == "run"


def test_debugging_and_a_wall_exclude_each_other(debug: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert debug("well", "--sealed") == 2
    assert "leave one of them out" in capsys.readouterr().err


def test_the_traceback_of_a_failed_attack_is_in_its_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    mine = ["--attack", "mine:how=badly", "--plugin", str(tmp_path / "mine.py"), "--out", str(tmp_path / "results")]
    assert main(["run", "--defense", "none", *mine, *TINY, "--no-progress"]) == 1
    said = capsys.readouterr().out
    assert 'File "mine.py", line ' in said
    assert 'raise ValueError("no idea")' in said
    assert str(tmp_path) not in said
    (record,) = (tmp_path / "results").glob("*.json")
    assert "no idea" in record.read_text()
    assert "traceback" in record.read_text()
