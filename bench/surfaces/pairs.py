"""Pairs of text and vector that an attacker has got hold of, of public texts; and more of these without a vector.

What somebody has who may not call the client's encoder: a few of its answers, and the public corpus as text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from bench.arrays import Floats
from bench.errors import UsageError
from bench.surfaces.base import Client, Surface, load, save
from bench.system.seeds import generator
from bench.toolkit.corpus import Corpus


@dataclass(frozen=True)
class LeakyClient(Client):
    """One of whose encoder's answers some are known."""

    public: Corpus
    """with the vectors of the client's own encoder"""
    known: int
    """of these, how many the attacker has a vector of"""


@dataclass(frozen=True)
class Pairs(Surface):
    """texts with their vectors: known × d; all public texts without"""

    gives: ClassVar[tuple[str, ...]] = ("pairs", "reading")

    texts: list[str]
    vectors: Floats
    reading: list[str]

    @classmethod
    def build(cls, client: Client) -> Self:
        assert isinstance(client, LeakyClient)
        texts = client.public.texts
        if not 2 <= client.known <= len(texts):
            raise UsageError(
                f"known={client.known}: of the {len(texts)} public sentences at least 2 are known with their vectors"
            )
        rows = generator(client.seed, "pairs", client.known).choice(len(texts), client.known, replace=False)
        return cls([texts[i] for i in rows], np.asarray(client.public.vectors, dtype=np.float32)[rows], texts)

    def size(self) -> int:
        return int(self.vectors.nbytes) + sum(map(len, self.reading))

    def write(self, folder: Path) -> dict[str, Any]:
        save(folder / "pairs.npy", self.vectors)
        for name, texts in (("pairs", self.texts), ("reading", self.reading)):
            (folder / f"{name}.json").write_text(json.dumps(texts), encoding="utf-8")
        return {}

    @staticmethod
    def open(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
        pairs, reading = (
            json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("pairs", "reading")
        )
        return {"pairs": Corpus(pairs, load(folder / "pairs.npy")), "reading": reading}

    @property
    def notes(self) -> dict[str, Any]:
        return {"pairs": len(self.texts)}
