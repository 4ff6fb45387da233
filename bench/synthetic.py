"""An encoder that needs no weights: every word is a random direction, a text their mean with a strong part in common.

Conformance checks run on its vectors, which are like a transformer's in what attacks lean on: similar texts are close,
and all have a mean far from zero. It is not listed; no result is to be published with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from bench import encoder
from bench.types import Floats


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
