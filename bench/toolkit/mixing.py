"""Mix and mask: the arithmetic that TextHide, its variants and the schemes built on it share.

A defense first draws a key with NumPy, then applies it. `apply` is a pure function of vectors and key, so the key
explains the release bit for bit; given a torch tensor it answers with one, and gradients flow through mix and mask.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from bench.arrays import Floats, Ints
from bench.errors import UsageError
from bench.toolkit.corpus import Corpus
from bench.types import Key

Weights = Literal["half-normal", "uniform"]

# Rows mixed and masked at a time: 512 × 768 float32 is 1.5 MiB, which stays in the second-level cache.
BLOCK = 512


def check(k: int, n: int, batch: int | Literal["all"]) -> int:
    """The number of batches that n examples are mixed in, of near-equal size and at most `batch` large."""
    if k > n:
        raise UsageError(f"k={k} mixes more examples than there are ({n}): lower k or raise --examples")
    batches = 1 if batch == "all" else -(-n // batch)
    smallest = n // batches
    if k > smallest:
        raise UsageError(f"k={k} is above the mixing pool of {smallest} examples: lower k or raise batch")
    return batches


def draw_members(
    n: int, k: int, epochs: int, rng: np.random.Generator, *, batch: int | Literal["all"], distinct: bool
) -> Ints:
    """Which examples each item mixes: (epochs · n) × k, the item's own example first, in no telling order.

    Each epoch the examples are dealt anew into batches, and every further slot is a random permutation of the batch,
    so that an example enters exactly k items an epoch. A permutation may leave an example where it is, as in the
    paper; with `distinct` the slots are different shifts of one random order, so that no item holds an example twice.
    """
    batches = check(k, n, batch)
    start = np.arange(batches + 1) * n // batches
    of = np.repeat(np.arange(batches), np.diff(start))  # the batch of each position
    position = np.arange(n) - start[of]
    dealt = rng.permuted(np.broadcast_to(np.arange(n), (epochs, n)), axis=1)
    slots = np.empty((epochs, n, k), dtype=np.int64)
    slots[:, :, 0] = dealt
    if distinct:
        size = np.diff(start)
        # Per epoch and batch, k - 1 different non-zero shifts: the first of a random order of 1 … size - 1.
        keys = rng.random((epochs, batches, int(size.max()) - 1)) if k > 1 else np.empty((epochs, batches, 0))
        keys[np.broadcast_to(np.arange(1, keys.shape[2] + 1) >= size[:, None], keys.shape)] = np.inf
        shifts = np.argsort(keys, axis=2)[:, :, : k - 1] + 1
        places = start[of][None, :, None] + (position[None, :, None] + shifts[:, of]) % size[of][None, :, None]
        slots[:, :, 1:] = np.take_along_axis(dealt[:, :, None], places, axis=1)
    else:
        for j in range(1, k):
            # Sorting batch number + noise permutes inside each batch and keeps the batches apart.
            order = np.argsort(of + rng.random((epochs, n)), axis=1)
            slots[:, :, j] = np.take_along_axis(dealt, order, axis=1)
    # The order of a release must say nothing: neither the epoch nor the batch an item comes from.
    members: Ints = slots.reshape(epochs * n, k)[rng.permutation(epochs * n)]
    return members


def draw_weights(count: int, k: int, how: Weights, rng: np.random.Generator) -> Floats:
    """count × k, non-negative, each row summing to 1."""
    if how not in get_args(Weights):
        raise UsageError(f"weights={how}: expected {' or '.join(get_args(Weights))}")
    raw = np.abs(rng.standard_normal((count, k))) if how == "half-normal" else rng.random((count, k))
    raw += np.finfo(np.float64).tiny  # a row of exact zeros has no sum to divide by
    weights: Floats = (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)
    return weights


def draw_masks(
    count: int, dim: int, m: int | Literal["inf"], rng: np.random.Generator
) -> tuple[Ints | None, npt.NDArray[np.int8] | None]:
    """A pool of m sign vectors and, for each item, one drawn from it with replacement; m=inf: a fresh one each."""
    if m == 0:
        return None, None
    size = count if m == "inf" else m
    pool = (rng.integers(0, 2, (size, dim), dtype=np.int8) * 2 - 1).astype(np.int8)
    mask = np.arange(count) if m == "inf" else rng.integers(0, size, count)
    return mask, pool


def apply(vectors: Any, key: Key, public: Corpus | None = None) -> Any:
    """The encodings that `key` makes of `vectors`: clipped, mixed, with noise added, under the mask."""
    if _is_tensor(vectors):
        return _apply_torch(vectors, key, public)
    vectors = np.asarray(vectors, dtype=np.float32)
    out: Floats = np.empty((len(key.members), vectors.shape[1]), dtype=np.float32)
    for at in range(0, len(out), BLOCK):
        rows = slice(at, at + BLOCK)
        block = mix(vectors, key.members[rows], _scaled(key, rows))
        if key.public is not None:
            assert public is not None
            block += mix(public.vectors, key.public[rows], key.weights[rows])
        if key.noise is not None:
            block += key.noise[rows]
        if key.mask is not None and key.pool is not None:
            block *= key.pool[key.mask[rows]]
        out[rows] = block
    return out


def mix(values: Any, members: Ints, weights: Floats) -> Any:
    """Row i is the sum over j of weights[i, j] · values[members[i, j]]; slots with -1 count as nothing.

    A weighted gather in one pass: a sparse product reads each row once and builds no n × k × d array.
    """
    weights = np.where(members < 0, np.float32(0), weights)
    members = np.maximum(members, 0)
    if _is_tensor(values):
        import torch

        index = torch.as_tensor(members, device=values.device)
        share = torch.as_tensor(weights, device=values.device, dtype=values.dtype)
        return torch.nn.functional.embedding_bag(index, values, per_sample_weights=share, mode="sum")
    n, k = members.shape
    sparse = csr_matrix((weights.ravel(), members.ravel(), np.arange(0, n * k + 1, k)), shape=(n, len(values)))
    return sparse @ values


def _apply_torch(vectors: Any, key: Key, public: Corpus | None) -> Any:
    import torch

    out = mix(vectors, key.members, _scaled(key, slice(None)))
    if key.public is not None:
        assert public is not None
        shared: Any = public.vectors  # a tensor, where the public sentences are encoded by a model that learns
        if not _is_tensor(shared):
            shared = torch.as_tensor(np.asarray(shared), device=vectors.device, dtype=vectors.dtype)
        out = out + mix(shared, key.public, key.weights)
    if key.noise is not None:
        out = out + torch.as_tensor(key.noise, device=vectors.device, dtype=vectors.dtype)
    if key.mask is not None and key.pool is not None:
        out = out * torch.as_tensor(key.pool[key.mask], device=vectors.device, dtype=vectors.dtype)
    return out


def _scaled(key: Key, rows: slice) -> Floats:
    """Weights that take the clipping of the vectors into account."""
    weights: Floats = key.weights[rows]
    return weights if key.scale is None else weights * key.scale[np.maximum(key.members[rows], 0)]


def _is_tensor(values: Any) -> bool:
    # By name, so that NumPy users never pay for importing torch.
    return type(values).__module__.split(".")[0] == "torch"
