"""Who runs a cell: two runs into one folder never do the same one.

A lock is a file in OUT/.locks that is held with flock, which the kernel lets go of when the process ends, however it
ends. On a network folder it holds as far as that folder's locks do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from bench.errors import BenchError


class Locks:
    """Use as a context manager; what is still held at its end is let go."""

    def __init__(self, out: Path):
        self._folder = out / ".locks"
        self._held: dict[str, int] = {}

    def __enter__(self) -> Locks:
        for path in self._folder.glob("*"):  # of runs that were killed
            if self.take(path.name):
                self.free(path.name)
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._held):
            self.free(name)
        with contextlib.suppress(OSError):  # another run has locks there
            self._folder.rmdir()

    def take(self, name: str) -> bool:
        """Whether the cell is ours now; False if another run has it."""
        path = self._folder / name
        while name not in self._held:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # another run has just tidied the folder away
                continue
            except OSError as error:
                raise BenchError(f"cannot lock {path}: {error.strerror}; choose another folder") from error
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The holder before us may have removed the file while we waited to open it: then this is no lock.
                if os.fstat(handle).st_ino == os.stat(path).st_ino:
                    self._held[name] = handle
            except BlockingIOError:
                os.close(handle)
                return False
            except FileNotFoundError:
                pass
            if name not in self._held:
                os.close(handle)
        return True

    def free(self, name: str) -> None:
        handle = self._held.pop(name)
        (self._folder / name).unlink(missing_ok=True)
        os.close(handle)
