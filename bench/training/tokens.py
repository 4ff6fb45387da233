"""Texts as token numbers, and the hidden states that the frozen lower layers make of them, kept for the next epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Ints
from bench.encoders import packed
from bench.encoders.batching import tokens_of
from bench.encoders.packed import Architecture, Batch

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]

# Bytes of hidden states that are kept: those of further texts are computed each time.
LIMIT = 2 << 30


class Tokens:
    """Texts of one kind: train, dev or public."""

    def __init__(self, tokenizer: Any, texts: Sequence[str], max_length: int):
        found = tokens_of(tokenizer, texts, max_length)
        self.ids = found["input_ids"]
        self.types = found.get("token_type_ids")

    def __len__(self) -> int:
        return len(self.ids)

    def pack(self, rows: Ints, device: str) -> Batch:
        types = None if self.types is None else [self.types[i] for i in rows]
        return packed.pack([self.ids[i] for i in rows], types, device)


class LowerLayers:
    """The layers below those that are trained: their output for a text never changes."""

    def __init__(self, weights: Weights, architecture: Architecture, count: int, device: str):
        self._weights, self._architecture, self._which, self._device = weights, architecture, range(count), device
        self._kept: dict[int, dict[int, Tensor]] = {}
        self._room = LIMIT
        self.groups: list[tuple[Tokens, Ints]] = []
        """texts whose states are kept, as they were computed together: in other company, the last bits differ"""

    def hidden(self, tokens: Tokens, rows: Ints) -> tuple[Batch, Tensor]:
        """The packed texts and their hidden states, tokens × d."""
        import torch

        kept = self._kept.setdefault(id(tokens), {})
        missing = np.array([i for i in rows if i not in kept], dtype=np.int64)
        fresh: dict[int, Tensor] = {}
        if len(missing):
            with torch.no_grad():
                fresh = dict(zip(missing.tolist(), self._computed(tokens, missing), strict=True))
            before = len(kept)
            for row, states in fresh.items():
                self._room -= states.numel() * states.element_size()
                if self._room > 0:
                    kept[row] = states
            if len(kept) > before:
                self.groups.append((tokens, missing))
        batch = tokens.pack(rows, self._device)
        return batch, torch.cat([kept[i] if i in kept else fresh[i] for i in rows.tolist()])

    def _computed(self, tokens: Tokens, rows: Ints) -> list[Tensor]:
        batch = tokens.pack(rows, self._device)
        hidden = packed.embed(self._weights, batch, self._architecture)
        hidden = packed.layers(self._weights, hidden, batch, self._architecture, self._which)
        # Copies: a slice would keep the whole batch alive.
        import torch

        return [part.clone() for part in torch.split(hidden, [len(tokens.ids[i]) for i in rows])]


def by_length(tokens: Tokens, rows: Ints, size: int) -> list[Ints]:
    """Batches of texts of about equal length: less padding in attention."""
    order = rows[np.argsort([len(tokens.ids[i]) for i in rows], kind="stable")]
    return [order[at : at + size] for at in range(0, len(order), size)]
