"""What conformance checks run on: an encoder that needs no weights, and pictures that need no download.

Every word is a random direction, a text their mean with a strong part in common. That is like a transformer's vectors
in what attacks lean on: similar texts are close, and all have a mean far from zero. The pictures are smooth spots.
Neither is listed; no result is to be published with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench import Examples, dataset, encoder
from bench.arrays import Floats
from bench.encoders.lenet import LeNet


@encoder("synthetic-words")
@dataclass(frozen=True)
class SyntheticWords:
    """Random directions for words; for checking plugins, not for results."""

    dim: int = 32
    """coordinates"""

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        common = _word("what all texts have in common", self.dim) / 2
        rows = [np.mean([_word(w, self.dim) for w in text.split() or [""]], axis=0) + common for text in texts]
        return np.stack(rows).astype(np.float32)


@cache
def _word(word: str, dim: int) -> Floats:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(dim, dtype=np.float32)


@dataset("synthetic-pictures", on=("images",), public="synthetic-pictures")
@dataclass(frozen=True)
class SyntheticPictures:
    """Spots of light, 8×8 in grey; for checking plugins, not for results."""

    count: int = 200
    """pictures"""

    def load(self, split: str) -> Examples:
        rng = np.random.default_rng([len(split), self.count])
        row, column = np.mgrid[0:8, 0:8]
        at, width = rng.uniform(1, 6, (self.count, 2, 1, 1)), rng.uniform(1, 3, (self.count, 1, 1))
        images = np.exp(-((row - at[:, 0]) ** 2 + (column - at[:, 1]) ** 2) / width**2)
        names = [f"spot {split} {i}" for i in range(self.count)]
        return Examples(names, rng.integers(0, 4, self.count), ("a", "b", "c", "d"), images[:, None])


@encoder("synthetic-eye", on=("images",))
@dataclass(frozen=True)
class SyntheticEye(LeNet):
    """A small untrained network for those pictures."""

    d: int = 8
    """size of its hidden layer"""
