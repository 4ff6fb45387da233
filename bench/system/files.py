"""Atomic writes: a file is either complete or absent."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.errors import BenchError


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` that takes its place when the block ends well.

    The data is on disk before the name changes, so neither a kill nor a power cut leaves half a file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
    except OSError as error:
        raise BenchError(f"cannot write {path}: {error.strerror or error}; choose another folder") from error
    part = Path(name)
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except OSError as error:
        raise BenchError(
            f"cannot write {path}: {error.strerror or error}; free some space or choose another folder"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")


def read_text(path: Path, most: int = 64 << 20) -> str:
    """The text of an ordinary file of at most so many bytes. What the kernel makes up when it is read (/proc) has no
    size, and may have no end. ValueError or OSError says what keeps it from being read."""
    if not path.is_file() or path.stat().st_size == 0:
        raise ValueError("it is empty, or no ordinary file")
    if path.stat().st_size > most:
        raise ValueError(f"it is larger than {most >> 20} MiB")
    with path.open("rb") as file:
        return file.read(most).decode("utf-8")


def digest(path: Path) -> str:
    """sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    # mkstemp makes files private; results are for sharing, as far as the user's umask allows.
    mask = os.umask(0)
    os.umask(mask)
    return mask
