from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bench.encoders import batching
from bench.encoders.cache import VectorCache, text_key
from bench.errors import BenchError


def vectors(texts: list[str]) -> np.ndarray:
    return np.stack([np.full(8, len(t), dtype=np.float32) + np.arange(8) for t in texts])


def test_vectors_come_back_as_they_were(tmp_path: Path) -> None:
    store = VectorCache("x", tmp_path)
    texts = ["one", "two\ttwo", "naïve café", ""]
    store.put(texts, vectors(texts))
    found = VectorCache("x", tmp_path).get([*texts, "not there"])
    assert set(found) == {text_key(t) for t in texts}
    assert all(np.array_equal(found[text_key(t)], v) for t, v in zip(texts, vectors(texts), strict=True))


def _write(folder: str, worker: int) -> None:
    store = VectorCache("x", Path(folder))
    for i in range(20):
        texts = [f"shared {i}", f"{worker} {i}"]
        store.put(texts, vectors(texts))


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(str(tmp_path), w)) for w in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    texts = [f"shared {i}" for i in range(20)] + [f"{w} {i}" for w in range(3) for i in range(20)]
    assert len(VectorCache("x", tmp_path).get(texts)) == 80


def test_a_new_file_is_opened_by_several_at_once(tmp_path: Path) -> None:
    # SQLite says "locked" at once where two change a new file to write-ahead logging: of 480 writers 5 failed.
    def write(folder: Path, writer: int) -> None:
        store = VectorCache("x", folder)
        ready.wait()
        store.put([f"{writer}"], np.ones((1, 8), dtype=np.float32))

    with ThreadPoolExecutor(8) as pool:
        for i in range(100):
            ready = threading.Barrier(8)
            list(pool.map(partial(write, tmp_path / f"{i}"), range(8)))
            assert len(VectorCache("x", tmp_path / f"{i}").get([f"{w}" for w in range(8)])) == 8


def test_a_kill_in_the_middle_of_writing_leaves_whole_vectors(tmp_path: Path) -> None:
    code = f"""
import numpy as np, itertools
from pathlib import Path
from bench.encoders.cache import VectorCache
store = VectorCache("x", Path({str(tmp_path)!r}))
for i in itertools.count():
    store.put([f"{{i}} {{j}}" for j in range(50)], np.full((50, 64), i, dtype=np.float32))
    print("one more", flush=True)
"""
    for pause in (0.05, 0.11, 0.23):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()  # however busy the machine is, something was written
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        found = VectorCache("x", tmp_path).get([f"{i} {j}" for i in range(300) for j in range(50)])
        assert found, "nothing was written before the kill"
        assert len(found) % 50 == 0, "half a batch was kept"
        assert all(len(np.unique(v)) == 1 for v in found.values())


def test_a_damaged_file_is_put_aside_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = VectorCache("x", tmp_path)
    store.put(["one"], vectors(["one"]))
    store.path.write_bytes(b"this is not a database" * 100)
    for leftover in tmp_path.glob("*-wal"):
        leftover.unlink()
    assert store.get(["one"]) == {}
    assert "damaged" in caplog.text
    assert (tmp_path / "x.damaged").exists()
    store.put(["one"], vectors(["one"]))
    assert len(store.get(["one"])) == 1


def test_a_flipped_bit_in_a_vector_is_noticed_and_mended(tmp_path: Path) -> None:
    import sqlite3

    store = VectorCache("x", tmp_path)
    store.put(["one"], vectors(["one"]))
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE vectors SET vector = zeroblob(32)")
    assert store.get(["one"]) == {}
    store.put(["one"], vectors(["one"]))
    assert np.array_equal(store.get(["one"])[text_key("one")], vectors(["one"])[0])


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="BENCH_CACHE_DIR"):
        VectorCache("x", tmp_path / "file" / "below")


class Counting:
    fingerprint = "counting"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: list[str], device: str = "cpu") -> np.ndarray:
        self.seen += texts
        return vectors(list(texts))


def test_a_text_is_encoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path))
    encoder = Counting()
    texts = ["b", "a", "b", "ccc"]
    assert np.array_equal(batching.encode_cached(encoder, texts), vectors(texts))
    assert sorted(encoder.seen) == ["a", "b", "ccc"]
    batching.encode_cached(encoder, ["a", "new one"])
    assert sorted(encoder.seen) == ["a", "b", "ccc", "new one"]
