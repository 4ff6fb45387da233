from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.datasets.cifar10 import Cifar10
from bench.errors import DataError


def store(folder: Path, **changes: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 6), ("test", 3)):
        arrays[f"{part}_images"] = rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        arrays[f"{part}_labels"] = np.arange(count)
    (folder / "cifar10").mkdir()
    np.savez(folder / "cifar10" / "part.npz", **{**arrays, **changes})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    return tmp_path


def test_channels_come_first_and_bytes_become_shares(folder: Path) -> None:
    store(folder)
    train = Cifar10().load("train")
    raw = np.load(folder / "cifar10" / "part.npz")["train_images"]
    assert train.images is not None
    assert train.images.shape == (6, 3, 32, 32)
    assert train.images[4, 2, 5, 7] == pytest.approx(raw[4, 5, 7, 2] / 255)
    assert train.texts[4] == "cifar10 train 4"
    assert len(Cifar10().load("dev")) == 3


def test_pictures_of_another_size_are_refused(folder: Path) -> None:
    store(folder, train_images=np.zeros((6, 28, 28, 3), np.uint8))
    with pytest.raises(DataError, match="expected 32 × 32 × 3 bytes"):
        Cifar10().load("train")


def test_a_folder_without_it_says_what_to_do(folder: Path) -> None:
    with pytest.raises(DataError, match="unset BENCH_DATA_DIR"):
        Cifar10().load("train")


def test_a_file_that_is_something_else_is_named(folder: Path) -> None:
    (folder / "cifar10").mkdir()
    np.savez(folder / "cifar10" / "other.npz", x=np.zeros(3))
    with pytest.raises(DataError, match=r"other.npz cannot be read as CIFAR-10"):
        Cifar10().load("train")


@pytest.mark.realdata
def test_the_real_one_has_balanced_classes() -> None:
    from bench.system.paths import data_dir

    place = data_dir()
    if place is None or not (place / "cifar10").is_dir():
        pytest.skip("BENCH_DATA_DIR holds no cifar10")
    train = Cifar10().load("train")
    assert len(set(np.bincount(train.labels))) == 1
