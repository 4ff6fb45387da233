"""Folders for views: a live one is nobody else's to delete, a dead one goes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.isolation import workspace as workspaces
from bench.isolation.workspace import PREFIX, UNLOCKED_S, clean, workspace
from tests.helpers.cli import ROOT
from tests.helpers.processes import wait_until

HOLD = """
import sys, time
sys.path.insert(0, sys.argv[1])
from bench.isolation.workspace import workspace
with workspace() as folder:
    print(folder, flush=True)
    time.sleep(120)
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(workspaces.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_there_while_it_is_needed(base: Path) -> None:
    with workspace() as folder:
        assert folder.is_dir()
        assert list(folder.iterdir()) == []  # the lock is beside it, where no attack is shown it
        assert folder.parent.parent == base
    assert list(base.iterdir()) == []


def test_a_live_one_stays_and_a_dead_one_goes(base: Path) -> None:
    """Whatever the id in its name says: in another container it is another process's."""
    command = [sys.executable, "-c", HOLD, str(ROOT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        home = Path(holder.stdout.readline().strip()).parent
        elsewhere = home.with_name(f"{PREFIX}999999999-x")  # as seen from a container where no process has this id
        home.rename(elsewhere)
        clean(base)
        assert (elsewhere / "view").is_dir()
        holder.kill()
    wait_until(lambda: clean(base) or not elsewhere.exists(), seconds=30)


def test_one_without_a_lock_is_given_a_day(base: Path) -> None:
    fresh, old = base / f"{PREFIX}999999999-a", base / f"{PREFIX}999999999-b"
    alive = base / f"{PREFIX}{os.getpid()}-c"
    for folder in (fresh, old, alive):
        folder.mkdir()
    past = time.time() - UNLOCKED_S - 60
    for folder in (old, alive):
        os.utime(folder, (past, past))
    clean(base)
    assert sorted(base.iterdir()) == sorted([fresh, alive])


def test_what_another_user_laid_there_is_left_alone(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = base / "precious"
    target.mkdir()
    (base / f"{PREFIX}999999999-link").symlink_to(target)
    (base / f"{PREFIX}no-number").mkdir()
    theirs = base / f"{PREFIX}999999999-theirs"
    theirs.mkdir()
    (theirs / "lock").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    clean(base)
    assert target.exists()
    assert theirs.exists()
    assert (base / f"{PREFIX}no-number").exists()
