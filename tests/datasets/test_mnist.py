from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from bench.datasets.mnist import Mnist
from bench.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)


def idx(array: np.ndarray) -> bytes:
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}i", *array.shape) + array.tobytes())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    for part in ("train", "t10k"):
        (tmp_path / "mnist" / f"{part}-images-idx3-ubyte.gz").write_bytes(idx(IMAGES))
        (tmp_path / "mnist" / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx(np.arange(5, dtype=np.uint8)))
    return tmp_path / "mnist"


def test_idx_files_are_read(folder: Path) -> None:
    found = Mnist().load("dev")
    assert found.images is not None
    assert found.images.shape == (5, 1, 28, 28)
    assert found.images[3, 0, 7, 9] == pytest.approx(IMAGES[3, 7, 9] / 255)
    assert found.labels.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(DataError, match="no split 'public'"):
        Mnist().load("public")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"not gzip", "cannot be read"),
        (gzip.compress(b"\0\0\x09\x03junk"), "no idx file"),
        (idx(IMAGES)[:100], "cannot be read"),
        (idx(IMAGES[:, :20]), "expected n × 28 × 28"),
    ],
    # Named here: gzip writes the time into its bytes, and workers must collect the same ids.
    ids=["not gzip", "not idx", "cut short", "wrong shape"],
)
def test_files_that_are_not_mnist_are_refused_in_one_line(folder: Path, data: bytes, said: str) -> None:
    (folder / "train-images-idx3-ubyte.gz").write_bytes(data)
    with pytest.raises(DataError, match=said):
        Mnist().load("train")


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match=r"t10k-labels-idx1-ubyte\.gz is not there"):
        Mnist().load("dev")
