"""Few known pairs instead of the encoder: a linear map to an encoder of the attacker's own, in whose space sentences
are then written (ALGEN's idea, Chen et al. 2025).

The map is a ridge regression; how strong the ridge is, and how much of every coordinate the map gets right, is told by
leaving each of the known pairs out in turn. Coordinates count by that: what the map cannot tell is not looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Floats, UsageError

RIDGES = tuple(10.0**power for power in np.arange(-3.0, 3.5, 0.5))
"""in units of the mean variance of the directions given"""
LEAST = 0.02
"""share of a coordinate's variance that is taken to be right at least, so that none is without weight"""
MOST = 0.98


@dataclass(frozen=True)
class Alignment:
    """From vectors of one encoder to those of another."""

    mean: Floats
    spread: Floats
    weights: Floats
    bias: Floats
    right: Floats
    """of each coordinate of the other encoder, the share of its variance that the map gets right"""

    def __call__(self, vectors: Floats) -> Floats:
        found: Floats = ((np.asarray(vectors) - self.mean) / self.spread @ self.weights + self.bias).astype(np.float32)
        return found

    @property
    def trust(self) -> Floats:
        """What a coordinate counts: its signal in units of what the map gets wrong."""
        share = np.clip(self.right, LEAST, MOST)
        found: Floats = np.sqrt(share / (1 - share)).astype(np.float32)
        return found


def align(given: Floats, wanted: Floats) -> Alignment:
    """The ridge regression of the wanted vectors on those given, row by row, that does best on rows left out."""
    given, wanted = np.asarray(given, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    n = len(given)
    mean, spread, bias = given.mean(axis=0), given.std(axis=0), wanted.mean(axis=0)
    spread = np.where(spread > 1e-5 * spread.max(initial=0.0), spread, 1.0)
    inputs, outputs = (given - mean) / spread, wanted - bias
    left, values, right = np.linalg.svd(inputs, full_matrices=False)
    turned, power = left.T @ outputs, values**2
    scale = np.maximum(outputs.var(axis=0), 1e-12)
    best: tuple[float, Floats, Floats] | None = None
    for ridge in RIDGES:
        shrunk = power / (power + ridge * power.mean())
        # The row itself has this share in what is predicted for it; the mean has a share, too.
        own = np.minimum((left**2) @ shrunk + 1 / n, 1 - 1e-6)
        missed = (outputs - left @ (shrunk[:, None] * turned)) / (1 - own)[:, None]
        wrong = (missed**2).mean(axis=0) / scale
        if best is None or wrong.mean() < best[0]:
            kept = np.divide(shrunk, values, out=np.zeros_like(values), where=values > 1e-9 * values.max())
            best = float(wrong.mean()), right.T @ (kept[:, None] * turned), 1 - wrong
    assert best is not None
    return Alignment(mean, spread, best[1], bias, best[2].astype(np.float32))


def own_encoder(name: str, progress: Callable[[str], None]) -> tuple[Any, Callable[[Sequence[str]], Floats]]:
    """An encoder of the attacker's own, frozen, and a way to encode many texts with it that keeps what it did."""
    from bench.encoders import batching, transformers

    try:
        encoder = {"minilm": transformers.MiniLM, "mpnet": transformers.MPNet, "bert": transformers.Bert}[name]()
        encoder.encode(["A sentence."])
    except Exception as error:
        raise UsageError(
            f"the attacker's own encoder {name} cannot be called ({type(error).__name__}: {error})"
        ) from error

    def encode(texts: Sequence[str]) -> Floats:
        found: Floats = batching.encode_cached(
            encoder, texts, device="cpu", progress=lambda done, total: progress(f"encoding {done:,} of {total:,} texts")
        )
        return found

    return encoder, encode
