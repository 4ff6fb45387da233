"""Updates as an attack sees them, opened in its process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.encoders.packed import Architecture
from bench.encoders.wordpieces import WordPieces
from bench.surfaces.base import load

if TYPE_CHECKING:
    from torch import Tensor

# Behind the name of a tensor: the file of the rows that are not zero, where only these are kept.
ROWS = ".rows"


class SeenUpdate(Mapping[str, Floats]):
    """One update: tensors by name. An embedding's gradient is given whole; `rows` has the part that is not zero."""

    def __init__(self, folder: Path, shapes: Mapping[str, list[int]]):
        self._folder, self._shapes = folder, shapes
        self._names = sorted(path.name[: -len(".npy")] for path in folder.glob("*.npy"))
        self._names = [name for name in self._names if not name.endswith(ROWS)]

    def __getitem__(self, name: str) -> Floats:
        if name not in self._names:
            raise KeyError(name)
        value = load(self._folder / f"{name}.npy")
        if not self._sparse(name):
            return value
        whole = np.zeros(self._shapes[name], np.float32)
        whole[self.rows(name)[0]] = value
        return whole

    def rows(self, name: str) -> tuple[Ints, Floats]:
        """Numbers of the rows that are not zero, and these rows."""
        value = load(self._folder / f"{name}.npy")
        if self._sparse(name):
            return np.load(self._folder / f"{name}{ROWS}.npy", allow_pickle=False), value
        rows = np.flatnonzero(value.any(axis=1))
        return rows, value[rows]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _sparse(self, name: str) -> bool:
        return (self._folder / f"{name}{ROWS}.npy").exists()


class SeenUpdates:
    """The updates of some rounds, by number, and what an eavesdropper knows of the model that is trained."""

    batch: int
    """sentences in an update"""
    max_length: int
    """tokens after which a text is cut"""
    lowest: int | None
    """the lowest layer that is shared; None where only the head is"""
    difference: bool
    """what is sent is a difference of weights after local steps, and no gradient"""
    shared: dict[str, list[int]]
    """all tensors that are sent, with their shapes; an update holds those of them that the attack declares"""

    def __init__(self, folder: Path, facts: dict[str, Any]):
        self._folder, self._count = folder, facts["count"]
        self.architecture = Architecture(**facts["architecture"])
        self.batch, self.max_length, self.lowest = facts["batch"], facts["max_length"], facts["lowest"]
        self.difference, self.shared = facts["difference"], facts["shared"]

    def __len__(self) -> int:
        count: int = self._count
        return count

    def __getitem__(self, number: int) -> SeenUpdate:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return SeenUpdate(self._folder / str(number), self.shared)

    @cached_property
    def tokenizer(self) -> WordPieces:
        return WordPieces(self._folder / "tokenizer.json", self.max_length)

    @cached_property
    def weights(self) -> dict[str, Tensor]:
        """All weights of the model by name (bench.encoders.packed), the head's included; mapped, not read."""
        from safetensors.torch import load_file

        found: dict[str, Tensor] = load_file(self._folder / "model.safetensors")
        return found
