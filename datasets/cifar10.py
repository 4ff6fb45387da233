"""CIFAR-10, from `$BENCH_DATA_DIR/cifar10/*.npz`, else from the hub.

An npz file holds train_images, train_labels, test_images, test_labels (n × 32 × 32 × 3 bytes, class numbers) and may
hold a part of the data set only; the record's fingerprint says which.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import DataError, Examples, dataset
from bench.errors import BenchError
from bench.system import hub
from bench.system.paths import data_dir

HUB = "uoft-cs/cifar10"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE = 32


@dataset("cifar10", paper="Krizhevsky 2009", on=("images",))
@dataclass(frozen=True)
class Cifar10:
    """Photographs of ten kinds of things, 32×32 in colour."""

    def load(self, split: str) -> Examples:
        if split not in ("train", "dev"):
            raise DataError(f"cifar10 has no split {split!r}: use train or dev")
        part = "test" if split == "dev" else "train"
        folder = data_dir()
        images, labels = _from_hub(part) if folder is None else _from_file(folder / "cifar10", part)
        names = [f"cifar10 {split} {i}" for i in range(len(images))]
        return Examples(names, labels, CLASSES, images.transpose(0, 3, 1, 2) / np.float32(255))


def _from_file(folder: Path, part: str) -> tuple[Any, Any]:
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise DataError(f"{folder} holds no *.npz: put CIFAR-10 there, or unset BENCH_DATA_DIR to use the hub")
    parts = []
    for path in paths:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                parts.append((arrays[f"{part}_images"], arrays[f"{part}_labels"]))
        except (KeyError, ValueError, OSError) as error:
            raise DataError(f"{path} cannot be read as CIFAR-10 ({error}): see bench.datasets.cifar10") from error
    images, labels = (np.concatenate(some) for some in zip(*parts, strict=True))
    if images.ndim != 4 or images.shape[1:] != (SIDE, SIDE, 3) or images.dtype != np.uint8:
        found = f"pictures of shape {images.shape[1:]} and type {images.dtype}"
        raise DataError(f"{folder}: {found}; expected {SIDE} × {SIDE} × 3 bytes")
    return images, labels


def _from_hub(part: str) -> tuple[Any, Any]:
    import pandas as pd

    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise BenchError("cifar10 from the hub needs Pillow: pip install 'hideseek[images]'") from error
    path = hub.dataset_file(
        HUB,
        f"plain_text/{part}-00000-of-00001.parquet",
        what="cifar10",
        otherwise="set BENCH_DATA_DIR to a folder that holds cifar10/*.npz, or use --dataset digits",
    )
    table = pd.read_parquet(path)
    images = np.stack([np.asarray(Image.open(io.BytesIO(cell["bytes"])).convert("RGB")) for cell in table["img"]])
    return images, table["label"].to_numpy()
