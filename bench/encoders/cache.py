"""The cache of vectors on disk, keyed by encoder fingerprint and text.

One SQLite file per encoder: several processes can read and write it at once, a kill leaves it whole, and a lookup
reads only the rows it asks for. A file that is damaged all the same is put aside, and its vectors are made again.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrays import Floats
from bench.errors import BenchError
from bench.system.paths import cache_dir

LOG = logging.getLogger(__name__)
# Keys looked up in one statement; SQLite allows 32,766 parameters.
_MANY = 20_000


# Seconds that a writer waits for the others.
_WAIT = 120.0


def text_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VectorCache:
    """The vectors of one encoder."""

    @classmethod
    def of(cls, encoder: Any) -> VectorCache:
        """Named by what the vectors depend on, down to the last bit; some have a folder of their own."""
        name = getattr(encoder, "vectors_name", None) or encoder.fingerprint
        return cls(name, getattr(encoder, "vectors_folder", None))

    def __init__(self, name: str, folder: Path | None = None):
        self.path = (folder or cache_dir() / "vectors") / f"{name}.sqlite"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BenchError(f"cannot write the cache {self.path.parent}: {error}; set BENCH_CACHE_DIR") from error

    def get(self, texts: Sequence[str]) -> dict[bytes, Floats]:
        """The vectors that are there, by `text_key`."""
        keys = list({text_key(text) for text in texts})
        found: dict[bytes, Floats] = {}
        try:
            with self._open() as db:
                for at in range(0, len(keys), _MANY):
                    some = keys[at : at + _MANY]
                    marks = ",".join("?" * len(some))
                    rows = db.execute(f"SELECT key, sum, vector FROM vectors WHERE key IN ({marks})", some)
                    for key, checksum, blob in rows:
                        if hashlib.blake2b(blob, digest_size=8).digest() == checksum:
                            found[key] = np.frombuffer(blob, dtype="<f4")
        except sqlite3.DatabaseError as error:
            self._put_aside(error)
        return found

    def put(self, texts: Sequence[str], vectors: Floats) -> None:
        """All of them or, if the process is killed meanwhile, none of them."""
        raw = [np.ascontiguousarray(v, dtype="<f4").tobytes() for v in vectors]
        rows = [(text_key(t), hashlib.blake2b(b, digest_size=8).digest(), b) for t, b in zip(texts, raw, strict=True)]
        try:
            with self._open() as db:
                # A text has one vector, so a different one that is there already is a damaged row.
                db.executemany(
                    "INSERT INTO vectors VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET sum = excluded.sum, "
                    "vector = excluded.vector WHERE vectors.vector IS NOT excluded.vector",
                    rows,
                )
        except sqlite3.OperationalError as error:
            raise BenchError(f"cannot write the cache {self.path}: {error}; set BENCH_CACHE_DIR elsewhere") from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self.path, timeout=_WAIT)
        try:
            _write_ahead(db)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, sum BLOB, vector BLOB) WITHOUT ROWID")
            with db:
                yield db
        finally:
            db.close()

    def _put_aside(self, error: sqlite3.DatabaseError) -> None:
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise BenchError(f"cannot read the cache {self.path}: {error}; set BENCH_CACHE_DIR elsewhere") from error
        aside = self.path.with_suffix(".damaged")
        self.path.replace(aside)
        for leftover in (f"{self.path}-wal", f"{self.path}-shm"):
            Path(leftover).unlink(missing_ok=True)
        LOG.warning("the cache %s was damaged (%s): moved to %s, encoding again", self.path, error, aside.name)


def _write_ahead(db: sqlite3.Connection) -> None:
    """Readers and a writer at once. SQLite does not wait for others while it changes a new file to this mode, as it
    does everywhere else, so that two who open a new file at once have to try again."""
    end = time.monotonic() + _WAIT
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return
