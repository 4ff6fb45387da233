"""`bench records`, on a folder of made-up records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.cli.main import main
from bench.experiment import provenance
from bench.plugins.registry import Registry
from bench.records import store
from bench.records.model import AttackRecord
from tests.helpers.records import attack_record


def made(number: int, **changes: Any) -> AttackRecord:
    record = attack_record(dataset="demo", seed=number)
    return record.replace(code=provenance.code_of(record, Registry().get) | changes.get("code", {}))


IDS = [made(number).id for number in range(4)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for record in (made(1), made(2), made(3, code={"attack": "0ld"})):
        store.save(tmp_path, record)
    return tmp_path


def test_verify_names_the_component_that_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "verify", "--results", str(folder)]) == 1
    said = capsys.readouterr().out
    assert "3 records: 2 current, 0 equivalent, 1 stale, 0 unknown" in said
    assert f"stale: 1 record, changed: attack (such as {IDS[3]})" in said


def test_records_are_looked_for_where_a_run_leaves_them(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.chdir(home)
    (home / "results").symlink_to(folder)
    assert main(["records", "definitions", IDS[1]]) == 0
    (home / "leaderboards" / "records").mkdir(parents=True)
    assert main(["records", "definitions", IDS[1]]) == 2  # published ones come first, where there are any


def test_verify_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["records", "verify", "--json", "--results", str(folder)])
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows[IDS[3]] == {"id": IDS[3], "status": "stale", "changed": ["attack"], "problems": []}
    assert rows[IDS[1]]["status"] == "current"


def test_nothing_stale_is_a_success_and_a_damaged_record_is_none(folder: Path) -> None:
    for path in folder.glob("*.s3.*"):
        path.unlink()
    assert main(["records", "verify", "--results", str(folder)]) == 0
    (folder / "cut.json").write_text("{", encoding="utf-8")
    assert main(["records", "verify", "--results", str(folder)]) == 1


def test_definitions_of_a_record(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "definitions", IDS[1], "--results", str(folder)]) == 0
    assert "  bench.attacks.rss:RSS\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["definitions", ""], "3 records"),
        (["definitions", "x"], "0 records"),
        (["replay", "--sample", "0"], "--sample 0: at least 1"),
    ],
)
def test_wrong_use_is_explained(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["records", *words, "--results", str(folder)]) == 2
    assert said in capsys.readouterr().err


def test_migrate_with_nothing_stale_runs_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in folder.glob("*.s3.*"):
        path.unlink()
    assert main(["records", "migrate", "--reason", "a refactoring", "--results", str(folder)]) == 0
    assert "2 records: none is stale" in capsys.readouterr().out
