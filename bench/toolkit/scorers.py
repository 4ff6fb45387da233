"""Scores of queries against a block of vectors, by several libraries: each is fast, and says how far it may be off.

bench.toolkit.search takes from them which rows can be among the nearest, never in which order: scores of different
libraries differ in the last bits, so the order is decided by one kernel, whatever the library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from bench.arrays import Floats, Ints
from bench.system import calibration

# Multiply-adds below which NumPy's product ends before torch has been imported (about 1.5 s), and below which it ends
# before the libraries have been compared.
SMALL, TINY = 2e10, 1e9
# By how much of itself a number may change when it is rounded to float32 and to bfloat16.
_SINGLE, _HALF = 2.0**-24, 2.0**-8


class Scorer(Protocol):
    """Inner products of some queries with blocks of vectors, both of length 1."""

    error: float
    """how far a score may be from the exact one"""
    relative: float
    """how far besides, as a part of the score"""

    def scores(self, rows: slice) -> Any:
        """queries × rows"""

    def maxima(self, scores: Any, halvings: int) -> Any:
        """Over the columns that are equal modulo width / 2 ** halvings."""

    def largest(self, values: Any, count: int) -> Floats:
        """The count-th largest of each row."""

    def above(self, values: Any, floor: Floats) -> Ints:
        """Where a value reaches its row's floor: places in the flattened matrix, rising."""

    def take(self, values: Any, places: Ints) -> Floats:
        """The values at such places."""


class NumpyScorer:
    def __init__(self, queries: Floats, vectors: Floats):
        self._queries, self._vectors = queries, vectors
        self.error, self.relative = rounding(queries.shape[1]), 0.0
        self._rooms: dict[str, Floats] = {}

    def scores(self, rows: slice) -> Floats:
        return np.matmul(self._queries, self._vectors[rows].T, out=self._room("scores", rows.stop - rows.start))

    def maxima(self, scores: Floats, halvings: int) -> Floats:
        for i in range(halvings):
            half = scores.shape[1] // 2
            # In place from the second on: what is written was read before.
            out = self._room("maxima", half) if i == 0 else scores[:, :half]
            scores = np.maximum(scores[:, :half], scores[:, half:], out=out)
        return scores

    def _room(self, name: str, width: int) -> Floats:
        """Memory that is used again from block to block: fresh pages cost as much as the work on them."""
        size = len(self._queries) * width
        if name not in self._rooms or self._rooms[name].size < size:
            self._rooms[name] = np.empty(size, dtype=np.float32)
        return self._rooms[name][:size].reshape(-1, width)

    def largest(self, values: Floats, count: int) -> Floats:
        if count == 1:
            best: Floats = values.max(axis=1)
            return best
        at = values.shape[1] - count
        return np.partition(values, at, axis=1)[:, at]

    def above(self, values: Floats, floor: Floats) -> Ints:
        return np.flatnonzero(values >= floor[:, None])

    def take(self, values: Floats, places: Ints) -> Floats:
        return values.reshape(-1)[places]


class TorchScorer:
    """On the CPU or a GPU; with `half`, products of vectors rounded to bfloat16, where the processor has twice the
    speed for these."""

    def __init__(self, queries: Floats, vectors: Floats, device: str = "cpu", half: bool = False):
        import torch

        self._torch, self._device = torch, device
        self._kind = torch.bfloat16 if half else torch.float32
        self._queries = torch.as_tensor(queries, device=device).to(self._kind)
        self._vectors = torch.as_tensor(vectors, device=device)
        self.error, self.relative = rounding(queries.shape[1]), 0.0
        if half:  # both vectors are rounded, and the score
            exact = torch.as_tensor(queries, device=device)
            lost = float((exact - self._queries).norm(dim=1).max())
            self.error += 1.001 * (lost * (1 + _HALF) + _HALF)
            self.relative = _HALF
        self._room = torch.empty(0, dtype=self._kind, device=device)

    def scores(self, rows: slice) -> Any:
        size = len(self._queries) * (rows.stop - rows.start)
        if self._room.numel() < size:
            self._room = self._torch.empty(size, dtype=self._kind, device=self._device)
        out = self._room[:size].view(len(self._queries), -1)
        return self._torch.mm(self._queries, self._vectors[rows].to(self._kind).T, out=out)

    def maxima(self, scores: Any, halvings: int) -> Any:
        return scores.view(len(scores), 1 << halvings, -1).amax(dim=1) if halvings else scores

    def largest(self, values: Any, count: int) -> Floats:
        found: Floats = values.topk(count, dim=1).values[:, -1].float().cpu().numpy()
        return found

    def above(self, values: Any, floor: Floats) -> Ints:
        # In the scores' own precision, rounded down.
        low = self._torch.as_tensor(floor - 2 * _HALF * np.abs(floor), device=self._device).to(self._kind)
        there = values >= low[:, None]
        if self._device == "cpu":  # NumPy's is several times as fast
            return np.flatnonzero(there.numpy())
        places: Ints = there.flatten().nonzero().flatten().cpu().numpy()
        return places

    def take(self, values: Any, places: Ints) -> Floats:
        at = self._torch.as_tensor(places, device=self._device)
        found: Floats = values.flatten()[at].float().cpu().numpy()
        return found


Make = Callable[[Floats, Floats], Scorer]


def _bfloat16(queries: Floats, vectors: Floats) -> Scorer:
    return TorchScorer(queries, vectors, half=True)


ENGINES: dict[str, Make] = {"numpy": NumpyScorer, "torch": TorchScorer, "torch bfloat16": _bfloat16}


def choose(queries: int, vectors: int, dim: int, device: str) -> str:
    """The engine for a search of this size; they differ in speed alone."""
    work = float(queries) * vectors * dim
    if device != "cpu" or work < TINY or (work < SMALL and "torch" not in sys.modules):
        return "numpy" if device == "cpu" else "torch"
    import torch

    q, v = (np.full((size, dim), dim**-0.5, dtype=np.float32) for size in (256, 1024))
    tried = {name: make(q, v) for name, make in ENGINES.items()}
    ways = {name: (lambda engine=engine: engine.scores(slice(0, 1024))) for name, engine in tried.items()}
    task = f"search|{dim}|{torch.get_num_threads()}|{np.__version__}|{torch.__version__}"
    return calibration.fastest(task, ways)


def rounding(dim: int) -> float:
    """How far an inner product in float32 of two vectors of length 1 may be from the exact one, in whatever order it is
    added up: Higham's bound, with room for what lengths are off by themselves and for the final rounding."""
    return (dim + 4) * _SINGLE * 1.001
