"""Folders for views: each has an owner and a lock, so that nobody deletes one that is in use.

    hideseek-view-PID-…/lock   held by the process that made it, until it ends, however it ends
                       /view   what the attack is shown

Whether its owner lives is asked of the lock, not of the process id: containers that share a /tmp have ids of their own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.system import processes

PREFIX = "hideseek-view-"
# What it is called before its lock is held, when nobody must take it for an abandoned one.
FRESH = "hideseek-new-"
# A folder without a lock is just being made, or is a scene's (bench.api.scenes), which has none: it is given a day.
UNLOCKED_S = 24 * 3600


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A folder for one view, gone afterwards; those that a killed run left behind go as well."""
    clean(Path(tempfile.gettempdir()))
    fresh = Path(tempfile.mkdtemp(prefix=FRESH))
    home = fresh.with_name(f"{PREFIX}{os.getpid()}-{fresh.name[len(FRESH) :]}")
    lock = os.open(fresh / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (fresh / "view").mkdir()
        fresh.rename(home)
        yield home / "view"
    finally:
        for folder in (fresh, home):
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def clean(base: Path) -> None:
    """Delete the folders of this user whose owner is gone."""
    for old in (*base.glob(f"{PREFIX}*"), *base.glob(f"{FRESH}*")):
        with contextlib.suppress(OSError, ValueError):
            found = old.lstat()
            # Another user's, or a link that another user laid here for us to follow.
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            if _is_abandoned(old, time.time() - found.st_mtime):
                shutil.rmtree(old, ignore_errors=True)


def _is_abandoned(folder: Path, age: float) -> bool:
    if folder.name.startswith(FRESH):
        return age > UNLOCKED_S
    if not (folder / "lock").exists():
        return age > UNLOCKED_S and not processes.is_alive(int(folder.name[len(PREFIX) :].split("-")[0]))
    lock = os.open(folder / "lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
