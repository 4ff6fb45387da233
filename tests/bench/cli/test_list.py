"""What there is to run, as lists."""

from __future__ import annotations

import json

import pytest

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
