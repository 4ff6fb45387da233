"""Per-cell locks: one holder at a time, whatever becomes of the holder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.system.locks import Locks

# Takes a lock, says so, and waits to be killed.
HOLDER = """import sys, time
from pathlib import Path
from bench.system.locks import Locks
locks = Locks(Path(sys.argv[1]))
print(locks.acquire("cell"), flush=True)
time.sleep(60)
"""


def test_a_second_run_does_not_get_a_lock_until_the_first_releases_it(tmp_path: Path) -> None:
    with Locks(tmp_path) as first, Locks(tmp_path) as second:
        assert first.acquire("cell")
        assert first.acquire("cell")  # it is ours already
        assert not second.acquire("cell")
        assert second.acquire("another")
        first.release("cell")
        assert second.acquire("cell")


def test_locks_leave_nothing_behind(tmp_path: Path) -> None:
    with Locks(tmp_path) as locks:
        assert locks.acquire("cell")
        assert (tmp_path / ".locks" / "cell").exists()
    assert not (tmp_path / ".locks").exists()


def test_a_folder_that_another_run_still_uses_stays(tmp_path: Path) -> None:
    with Locks(tmp_path) as first:
        assert first.acquire("cell")
        with Locks(tmp_path) as second:
            assert not second.acquire("cell")
        assert (tmp_path / ".locks" / "cell").exists()


def test_a_killed_holder_loses_its_lock_and_its_file_is_removed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-P", "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    with Locks(tmp_path) as ours:
        assert not ours.acquire("cell")
        holder.kill()
        holder.communicate()
        assert (tmp_path / ".locks" / "cell").exists()
    with Locks(tmp_path) as ours:
        assert not (tmp_path / ".locks" / "cell").exists()
        assert ours.acquire("cell")


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
        assert locks.acquire("a")
        assert removed
        assert not other.acquire("a")


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match=r"cannot lock .*; choose another folder"):
        Locks(tmp_path / "file").acquire("cell")
