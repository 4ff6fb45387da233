"""What every surface has to say, and the client that it is made from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats
from bench.types import Examples, Key, Release


@dataclass(frozen=True)
class Client:
    """What a client holds when it releases."""

    seed: int
    encoder: Any
    encoder_name: str
    private: Examples
    release: Release
    key: Key


class Surface(ABC):
    """Built by the parent and laid out in the view's folder; opened in the attack's process.

    One that is large is built as a plan, and made block by block when it is written.
    """

    gives: ClassVar[tuple[str, ...]]
    """the attributes of a view that it is seen by"""
    uses: ClassVar[tuple[str, ...]] = ()
    """functions of the modality that decide it: part of its provenance"""

    @classmethod
    @abstractmethod
    def build(cls, client: Client) -> Self: ...

    @abstractmethod
    def size(self) -> int:
        """Bytes on disk, known before anything is written."""

    @abstractmethod
    def write(self, folder: Path) -> dict[str, Any]:
        """Lay it out below `folder`; what is returned, plain JSON, is given to `open`."""

    @staticmethod
    @abstractmethod
    def open(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
        """The attributes by name. Arrays are mapped, not read: they may exceed the memory limit."""

    @property
    def notes(self) -> dict[str, Any]:
        """Facts about it for the record."""
        return {}


def save(path: Path, array: npt.ArrayLike) -> None:
    np.save(path, np.ascontiguousarray(np.asarray(array, dtype=np.float32)), allow_pickle=False)


def load(path: Path) -> Floats:
    array: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def load_all(folder: Path) -> dict[str, Floats]:
    return {path.name[: -len(".npy")]: load(path) for path in sorted(folder.glob("*.npy"))}
