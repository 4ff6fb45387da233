"""MNIST, from the four original idx files in `$BENCH_DATA_DIR/mnist`, else from the hub."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import DataError, Examples, dataset
from bench.errors import BenchError
from bench.system import hub
from bench.system.paths import data_dir

HUB = "ylecun/mnist"
CLASSES = tuple("0123456789")
SIDE = 28
# What an idx file of bytes begins with: two zeros, the type, the number of dimensions.
BYTES = b"\0\0\x08"


@dataset("mnist", paper="LeCun, Cortes and Burges 1998", on=("images",))
@dataclass(frozen=True)
class Mnist:
    """Handwritten digits, 28×28 in grey."""

    def load(self, split: str) -> Examples:
        if split not in ("train", "dev"):
            raise DataError(f"mnist has no split {split!r}: use train or dev")
        part = "train" if split == "train" else "t10k"
        folder = data_dir()
        images, labels = _from_hub(part) if folder is None else _from_files(folder / "mnist", part)
        names = [f"mnist {split} {i}" for i in range(len(images))]
        return Examples(names, labels, CLASSES, images[:, None] / np.float32(255))


def _from_files(folder: Path, part: str) -> tuple[Any, Any]:
    images = _idx(folder / f"{part}-images-idx3-ubyte.gz", 3)
    labels = _idx(folder / f"{part}-labels-idx1-ubyte.gz", 1)
    if images.shape[1:] != (SIDE, SIDE) or len(images) != len(labels):
        raise DataError(f"{folder}: {images.shape} pictures and {labels.shape} labels; expected n × {SIDE} × {SIDE}")
    return images, labels


def _idx(path: Path, dimensions: int) -> Any:
    try:
        data = gzip.decompress(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"{path} is not there: put MNIST there, or unset BENCH_DATA_DIR to use the hub") from error
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read ({error}): fetch it again") from error
    start = 4 + 4 * dimensions
    shape = tuple(np.frombuffer(data[4:start], dtype=">i4"))
    if data[:4] != BYTES + bytes([dimensions]) or len(data) != start + int(np.prod(shape)):
        raise DataError(f"{path} is no idx file of {dimensions}-dimensional bytes: fetch it again")
    return np.frombuffer(data[start:], dtype=np.uint8).reshape(shape)


def _from_hub(part: str) -> tuple[Any, Any]:
    import pandas as pd

    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise BenchError("mnist from the hub needs Pillow: pip install 'hideseek[images]'") from error
    name = "train" if part == "train" else "test"
    path = hub.dataset_file(
        HUB,
        f"mnist/{name}-00000-of-00001.parquet",
        what="mnist",
        otherwise="set BENCH_DATA_DIR to a folder that holds mnist/*.gz, or use --dataset digits",
    )
    table = pd.read_parquet(path)
    images = np.stack([np.asarray(Image.open(io.BytesIO(cell["bytes"])).convert("L")) for cell in table["image"]])
    return images, table["label"].to_numpy()
