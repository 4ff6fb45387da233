"""Records on disk: loaded, shown, and made into boards."""

from __future__ import annotations

from pathlib import Path

import pytest

import bench
from tests.helpers.records import attack_record, utility_record, write_damaged, write_records


def test_a_folder_is_loaded_as_results(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_records(tmp_path, attack_record("none"), attack_record("texthide", seed=1), utility_record("none", 0.9))
    write_damaged(tmp_path, "damaged", attack_record("mix-only"), seed="zero")
    found = bench.load(tmp_path)
    assert [record.defense.name for record in found] == ["none", "texthide", "none"]
    assert len(found.leak()) == 2
    assert set(found.to_dataframe().kind) == {"attack", "utility"}
    assert "left out" in caplog.text


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(bench.BenchError, match="no such folder; run some cells first"):
        bench.load(tmp_path / "nowhere")


def test_a_record_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    record = attack_record("texthide", seed=3)
    write_records(tmp_path, record, attack_record("none"))
    found = bench.show(record.id[:8], results=tmp_path)
    assert found.record == record
    assert found.path.parent == tmp_path
    assert found.command.startswith("bench run --defense texthide --attack rss")
    assert bench.show(str(found.path)).record == record
    with pytest.raises(bench.UsageError, match="the closest are"):
        bench.show("zzz", results=tmp_path)


def test_a_published_record_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next((bench.ROOT / "leaderboards" / "records").glob("*.json"))
    monkeypatch.chdir(tmp_path)
    assert bench.show(path.stem.rpartition(".")[2]).path == path


def test_boards_are_written_and_checked(tmp_path: Path) -> None:
    results, out = tmp_path / "results", tmp_path / "board"
    write_records(results, attack_record("none", suites={"mine": 1}))
    before = bench.leaderboard(results, out, check=True)
    assert not before.written
    assert out / "boards" / "mine.md" in before.outdated
    assert not out.exists()
    written = bench.leaderboard(results, out).written
    assert out / "boards" / "mine.md" in written
    after = bench.leaderboard(results, out, check=True)
    assert (after.outdated, after.unexpected, after.unusable) == ({}, {}, 0)


def test_verify_says_which_code_stands_behind_each_record(tmp_path: Path) -> None:
    record = attack_record("none", "rss", dataset="demo").replace(code={"attack": "0ld"})
    write_records(tmp_path, record)
    ((found, standing),) = bench.verify(tmp_path)
    assert found == record
    assert standing.status == "stale"
    assert "attack" in standing.changed


def test_rescore_says_why_a_record_has_no_guess_to_score(tmp_path: Path) -> None:
    write_records(tmp_path, attack_record("none", "rss", dataset="demo"))
    (file,) = bench.rescore(results=tmp_path, progress=False)
    assert file.found is None
    assert "guess" in file.error
