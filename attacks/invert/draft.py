"""The encoder once more, in half precision: what sorts proposals, before the encoder itself is asked about the best.

Whoever may call an encoder on any text has its weights. In bfloat16 a processor that knows it multiplies matrices some
four times as fast, and a cosine is off by less than 0.001: enough to tell good edits from bad ones, not to say that a
vector is met. A vector is a function of its text alone, as shapes are fixed (bench.encoders.blocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import BenchError, Floats
from bench.encoders import packed
from bench.encoders.batching import tokens_of
from bench.encoders.blocks import block_of, blocks
from bench.encoders.packed import Architecture, Batch

if TYPE_CHECKING:
    from torch import Tensor

PRECISION = "bfloat16"
CHECKED = 16
"""public texts on which the draft has to agree with the encoder"""
AGREES = 0.99
"""cosine, in the space where every coordinate has the same spread, at which it does"""


@dataclass(frozen=True)
class Draft:
    """[CLS] of a BERT-type or MPNet encoder, roughly."""

    architecture: Architecture
    weights: dict[str, Tensor]
    tokenizer: Any
    max_length: int

    def encode(self, texts: Sequence[str]) -> Floats:
        import torch

        tokens = tokens_of(self.tokenizer, texts, min(self.max_length, self.architecture.positions))
        ids, types = tokens["input_ids"], tokens.get("token_type_ids")
        found: Floats = np.empty((len(ids), self.architecture.dim), dtype=np.float32)
        with torch.inference_mode():
            for rows in blocks([len(some) for some in ids]):
                batch = block_of([ids[i] for i in rows], types and [types[i] for i in rows], "cpu")
                found[rows] = self._first(batch).float().numpy()
        return found

    def _first(self, batch: Batch) -> Tensor:
        weights, about = self.weights, self.architecture
        last = f"layer.{about.layers - 1}"
        hidden = packed.layers(weights, packed.embed(weights, batch, about), batch, about, range(about.layers - 1))
        bias = packed.attention_bias(weights, batch, about)
        mixed = packed.attended(weights, hidden, batch, about, last, bias)
        return packed.feed_forward(weights, hidden[batch.first], mixed[batch.first], about, last)


def draft(encoder: Any, texts: Sequence[str], vectors: Floats, spread: Floats) -> Draft | None:
    """The draft of an encoder, or None: no such weights, another pooling, or a processor that would not be faster."""
    import torch

    if not _fast() or not isinstance(getattr(encoder, "folder", None), Path):
        return None
    try:
        architecture = Architecture.read(encoder.folder)
        weights = packed.load(encoder.folder, architecture)
        if checkpoint := getattr(encoder, "checkpoint", ""):
            weights |= _learnt(checkpoint, weights)
        tokenizer = packed.tokenizer_of(encoder.folder)
    except BenchError:
        return None
    half = {name: value.to(getattr(torch, PRECISION)) for name, value in weights.items()}
    found = Draft(architecture, half, tokenizer, getattr(encoder, "max_length", 128))
    rows = np.linspace(0, len(texts) - 1, min(CHECKED, len(texts))).astype(int)
    mine = found.encode([texts[row] for row in rows])
    if mine.shape != vectors[rows].shape:
        return None
    # As deviations from their mean: vectors of different sentences have much in common.
    one, two = mine / spread, vectors[rows] / spread
    one, two = one - two.mean(axis=0), two - two.mean(axis=0)
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    return found if (np.einsum("ij,ij->i", one, two) >= AGREES * norms).all() else None


def _fast() -> bool:
    """Whether this processor multiplies in bfloat16 by itself; others imitate it, and are slower for it."""
    import torch

    tests = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(test() for test in tests if test is not None)


def _learnt(checkpoint: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return {name: value for name, value in load_file(checkpoint).items() if name in weights}
    except (OSError, SafetensorError) as error:
        raise BenchError(f"the checkpoint {checkpoint} cannot be read ({error})") from error
