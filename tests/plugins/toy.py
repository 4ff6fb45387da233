"""An encoder that needs no weights: every word is a random direction, a sentence their sum. And the demo's sentences as
data that a sealed run does not draw anew: the scorer's vectors of them are in the tests' cache."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from bench import dataset, encoder


@encoder("toy")
@dataclass(frozen=True)
class Toy:
    """Random directions for words."""

    dim: int = 32

    @property
    def fingerprint(self) -> str:
        return f"toy-{self.dim}"

    def encode(self, texts, device="cpu"):
        out = np.ones((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
                out[row] += np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)
        return out


@dataset("kept-demo", public="kept-demo")
@dataclass(frozen=True)
class KeptDemo:
    """The demo's sentences, in sealed runs too."""

    def load(self, split):
        from bench.datasets.demo import Demo  # here: the sandbox, where the encoder above may be wanted, has none

        return Demo().load(split)
