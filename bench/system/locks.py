"""Per-cell locks for concurrent runs that share an output folder.

A lock is a file in OUT/.locks that is held with flock (filelock), which the kernel releases when the process ends,
however it ends. On a network folder it holds as far as that folder's locks do.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import BenchError

if TYPE_CHECKING:
    from filelock import FileLock


class Locks:
    """Use as a context manager; what is still held at its end is released."""

    def __init__(self, out: Path):
        self._folder = out / ".locks"
        self._held: dict[str, FileLock] = {}

    def __enter__(self) -> Locks:
        for path in self._folder.glob("*"):  # of runs that were killed
            if self.acquire(path.name):
                self.release(path.name)
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._held):
            self.release(name)
        with contextlib.suppress(OSError):  # another run has locks there
            self._folder.rmdir()

    def acquire(self, name: str) -> bool:
        """Whether the lock is held by this run now; False if another run holds it."""
        from filelock import FileLock, Timeout

        path = self._folder / name
        while name not in self._held:
            lock = FileLock(path, thread_local=False, mode=0o666)
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                lock.acquire(blocking=False)
                self._held[name] = lock
            except FileNotFoundError:  # another run has just removed the empty folder
                continue
            except Timeout:
                if path.exists():
                    return False
                # Its holder has just released and removed it: try again.
            except OSError as error:
                raise BenchError(f"cannot lock {path}: {error.strerror}; choose another folder") from error
        return True

    def release(self, name: str) -> None:
        lock = self._held.pop(name)
        # Removed while it is held: whoever opened it meanwhile sees that the file has no name any more, and retries.
        (self._folder / name).unlink(missing_ok=True)
        lock.release()
