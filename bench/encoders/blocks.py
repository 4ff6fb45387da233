"""Encoding without padding, through the packed kernels that training runs on.

Texts stand one after the other in blocks of a fixed number of tokens; what is missing at a block's end is filled up.
Linear layers see the whole block, attention sees runs of texts of one length, so neither pads nor masks anything. Where
the first token is wanted, the rest of the last layer is computed for that one alone, in blocks of a fixed number of
texts. So all shapes are fixed by a text's own length, and a vector is a function of its text alone, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from bench.arrays import Floats
from bench.encoders import packed
from bench.encoders.packed import Architecture, Batch

if TYPE_CHECKING:
    from torch import Tensor

# Tokens and first tokens of a block: the matrix product is at its full speed from some hundred on.
TOKENS, FIRST = 512, 64


def encode(
    weights: dict[str, Tensor],
    architecture: Architecture,
    tokens: dict[str, list[list[int]]],
    *,
    mean: bool = False,
    device: str = "cpu",
) -> Floats:
    """Texts × d: each text's first token, or the mean of all."""
    import torch

    ids, types = tokens["input_ids"], tokens.get("token_type_ids")
    found: Floats = np.empty((len(ids), architecture.dim), dtype=np.float32)
    last, entered, mixed = f"layer.{architecture.layers - 1}", [], []
    dealt = list(blocks([len(some) for some in ids]))
    order = [row for rows in dealt for row in rows]
    with torch.inference_mode():
        for rows in dealt:
            batch = block_of([ids[i] for i in rows], types and [types[i] for i in rows], device)
            hidden = packed.embed(weights, batch, architecture)
            which = range(architecture.layers - (not mean))
            hidden = packed.layers(weights, hidden, batch, architecture, which)
            if mean:
                found[rows] = _means(hidden, batch).cpu().numpy()
                continue
            bias = packed.attention_bias(weights, batch, architecture)
            mixed.append(packed.attended(weights, hidden, batch, architecture, last, bias)[batch.first])
            entered.append(hidden[batch.first])
        if not mean:
            inputs, contexts = torch.cat(entered), torch.cat(mixed)
            for at in range(0, len(order), FIRST):
                some = np.resize(np.arange(at, min(at + FIRST, len(order))), FIRST)
                vectors = packed.feed_forward(weights, inputs[some], contexts[some], architecture, last)
                found[order[at : at + FIRST]] = vectors[: len(order) - at].cpu().numpy()
    return found


def blocks(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows of texts, by length, that fit into a block."""
    some: list[int] = []
    held = 0
    for row in np.argsort(lengths, kind="stable").tolist():
        if some and held + lengths[row] > TOKENS:
            yield some
            some, held = [], 0
        some.append(row)
        held += lengths[row]
    if some:
        yield some


def block_of(ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None, device: str) -> Batch:
    """Texts, sorted by length, as one block; token 0 fills it up."""
    import torch

    lengths = np.array([len(some) for some in ids])
    first = np.cumsum(lengths) - lengths
    held = int(lengths.sum())
    flat, kinds, places = np.zeros((3, max(TOKENS, held)), dtype=np.int64)
    flat[:held] = np.concatenate(ids)
    if types is not None:
        kinds[:held] = np.concatenate(types)
    places[:held] = np.arange(held) - np.repeat(first, lengths)
    return Batch(
        ids=torch.as_tensor(flat, device=device),
        types=torch.as_tensor(kinds, device=device),
        places=torch.as_tensor(places, device=device),
        slots=torch.arange(held, device=device),
        first=torch.as_tensor(first, device=device),
        count=len(ids),
        longest=int(lengths[-1]),
        mask=None,
        runs=tuple((len(list(same)), length) for length, same in groupby(lengths.tolist())),
    )


def _means(hidden: Tensor, batch: Batch) -> Tensor:
    import torch

    found, at = [], 0
    for count, length in batch.runs or ():
        found.append(hidden[at : at + count * length].view(count, length, -1).mean(dim=1))
        at += count * length
    return torch.cat(found)
