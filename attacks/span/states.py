"""What sentences make of a layer: the inputs of its second feed-forward matrix, wide vectors that know the context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench import Floats, Ints
from bench.encoders import packed
from bench.encoders.inner import wide
from bench.encoders.packed import Architecture

if TYPE_CHECKING:
    from torch import Tensor

# Tokens that are run at a time: 25 MB for each array of doubles as wide as MPNet's feed-forward layer.
BLOCK = 1024


def blocks(lengths: Sequence[int]) -> Iterator[Ints]:
    """Rows of sentences of about equal length."""
    order = np.argsort(lengths, kind="stable")
    at = 0
    while at < len(order):
        size = max(1, BLOCK // int(lengths[order[min(at + 31, len(order) - 1)]]))
        yield order[at : at + size]
        at += size


def inner(
    weights: dict[str, Tensor],
    architecture: Architecture,
    ids: Sequence[Sequence[int]],
    types: Sequence[Sequence[int]],
    wanted: Sequence[int],
) -> dict[int, Floats]:
    """For each of the layers `wanted` the inputs of its matrix `down`: of every token, and in the top layer, where
    nothing else has a gradient, of each sentence's first token."""
    import torch

    found: dict[int, Floats] = {}
    with torch.no_grad():
        batch = packed.pack(ids, types)
        hidden = packed.embed(weights, batch, architecture)
        for layer in range(max(wanted) + 1):
            last = layer == architecture.layers - 1
            if layer in wanted:
                found[layer] = wide(weights, hidden, batch, architecture, layer, first_only=last).numpy()
            if layer < max(wanted):
                hidden = packed.layers(weights, hidden, batch, architecture, range(layer, layer + 1))
    return found
