"""What there is to run, as lists."""

from __future__ import annotations

import json

import pytest

from bench.cli.list import LISTS
from bench.cli.main import main


def test_names_alone_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "suites", "--names"]) == 0
    names = capsys.readouterr().out.split()
    assert "smoke" in names
    assert all(" " not in name for name in names)


def test_one_plugin_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "texthide", "--json"]) == 0
    ((kind, rows),) = json.loads(capsys.readouterr().out).items()
    assert kind == "defenses"
    assert [row["name"] for row in rows] == ["texthide"]


def test_an_unknown_name_is_answered_with_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "texthid"]) == 2
    assert "did you mean 'texthide'" in capsys.readouterr().err


def test_one_plugin_is_explained_with_the_choices_of_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "xie-hong"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "demask='pool': one of pool, abs; use what the mask pool gives away" in said
    assert "rounds=8: rounds of reconstruction, at most" in said
    assert "sees: corpus, defense, encodings, labels, public" in said
    assert "paper: Xie and Hong" in said
    assert main(["list", "finetuned"]) == 0
    assert "optimizer=adamw: one of adamw, sgd; with a linear warm-up" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("width", [80, 200])
def test_lists_have_a_hanging_indent_and_cut_nothing(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    assert all(line.startswith("  ") for line in lines if line.partition(" ")[0] not in LISTS)


def test_suites_of_training_stand_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    attacked, trained = ({row["name"] for row in found[kind]} for kind in ("suites", "training-suites"))
    assert {"main", "smoke"} <= attacked
    assert {"main-utility", "texthide-table1"} <= trained
    assert not attacked & trained


def test_bench_alone_says_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "bench run --defense texthide --attack unmix" in said
    assert "bench list" in said
