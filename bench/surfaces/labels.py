"""The labels of the items, mixed as the encodings are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from bench.arrays import Floats
from bench.surfaces.base import Client, Surface, load, save


@dataclass(frozen=True)
class Labels(Surface):
    """items × classes"""

    gives: ClassVar[tuple[str, ...]] = ("labels",)

    array: Floats

    @classmethod
    def build(cls, client: Client) -> Self:
        return cls(np.asarray(client.release.labels, dtype=np.float32))

    def size(self) -> int:
        return int(self.array.nbytes)

    def write(self, folder: Path) -> dict[str, Any]:
        save(folder / "labels.npy", self.array)
        return {}

    @staticmethod
    def open(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
        return {"labels": load(folder / "labels.npy")}
