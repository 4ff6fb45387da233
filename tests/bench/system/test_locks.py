"""Per-cell locks of concurrent runs that share an output folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.system.locks import Locks


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
