"""Folders for views: each has an owner and a lock, so that nobody deletes one that is in use.

    hideseek-view-PID-…/lock   held by the process that made it, until it ends, however it ends
                       /view   what the attack is shown

Whether its owner lives is asked of the lock, not of the process id: containers that share a /tmp have ids of their own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from bench.system import processes

PREFIX = "hideseek-view-"
# A folder without a lock is just being made, or is a scene's (bench.api.scenes), which has none.
UNLOCKED_S = 24 * 3600


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A folder for one view, gone afterwards; those that a killed run left behind go as well."""
    clean(Path(tempfile.gettempdir()))
    home = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    lock = FileLock(home / "lock", thread_local=False)
    try:
        lock.acquire(blocking=False)
        (home / "view").mkdir()
        yield home / "view"
    finally:
        shutil.rmtree(home, ignore_errors=True)
        lock.release()


def clean(base: Path) -> None:
    """Delete the folders of this user whose owner is gone."""
    for old in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, ValueError):
            found = old.lstat()
            # Another user's, or a link that another user laid here for us to follow.
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            if _is_abandoned(old, found.st_mtime):
                shutil.rmtree(old, ignore_errors=True)


def _is_abandoned(folder: Path, changed: float) -> bool:
    if not (folder / "lock").exists():
        pid = int(folder.name[len(PREFIX) :].split("-")[0])
        return time.time() - changed > UNLOCKED_S and not processes.is_alive(pid)
    lock = FileLock(folder / "lock", thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    lock.release()
    return True
