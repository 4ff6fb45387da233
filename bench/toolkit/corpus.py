"""Sentences with their vectors, and the search in them that an attack is given."""

from __future__ import annotations

from dataclasses import dataclass

from bench.arrays import Floats, Ints
from bench.toolkit.search import nearest


@dataclass(frozen=True)
class Corpus:
    """Sentences with their vectors: what an attacker may name, or what is public."""

    texts: list[str]
    vectors: Floats
    device: str = "cpu"
    known: int = 0
    """the first rows, which the attacker knows not to be private: what a published attack trains on"""

    def search(self, queries: Floats, top: int = 1) -> Ints:
        """Row numbers of the `top` sentences with the largest cosine, best first: n × top."""
        return nearest(queries, self.vectors, top, device=self.device)
