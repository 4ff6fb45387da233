"""Exact nearest neighbours by cosine, with the engine that is fastest for the size.

torch's matrix product with a partial sort, on the CPU as on a GPU; small searches use NumPy, which is done before
torch has been imported. benchmarks/search.py compares both with faiss's flat index, which is no engine here: it rounds
otherwise and promises no order among equals, so the same search would name other rows. Scores are made in blocks of at
most 64 MiB, so memory stays bounded whatever the corpus.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints
from bench.errors import DataError

BLOCK_BYTES = 64 << 20
# Below this many multiply-adds NumPy's product ends before torch has been imported (about 1.5 s).
SMALL = 2e10


def nearest(queries: npt.ArrayLike, vectors: npt.ArrayLike, top: int = 1, *, device: str = "cpu") -> Ints:
    """Row numbers in `vectors` of the `top` largest cosines for each query, best first; ties go to the lower row."""
    q, v = unit(queries, "queries"), unit(vectors, "corpus vectors")
    if q.shape[1] != v.shape[1]:
        raise DataError(f"queries have {q.shape[1]} dimensions but the corpus has {v.shape[1]}")
    top = min(top, len(v))
    if top < 1:
        raise DataError(f"cannot name {top} sentences out of a corpus of {len(v)}")
    small = device == "cpu" and float(len(q)) * v.size < SMALL
    return _with_numpy(q, v, top) if small else _with_torch(q, v, top, device)


def unit(array: npt.ArrayLike, what: str = "vectors") -> Floats:
    """Rows of length 1; a row of zeros stays, being equally far from everything."""
    values: Floats = np.asarray(array, dtype=np.float32)
    if values.ndim != 2:
        raise DataError(f"{what} must be a matrix, not of shape {values.shape}")
    norm: Floats = np.linalg.norm(values, axis=1, keepdims=True)
    if not np.isfinite(norm).all():
        raise DataError(f"{what} contain NaN or infinite values")
    norm[norm == 0] = 1
    scaled: Floats = values / norm
    return scaled


def _block(rows: int) -> int:
    return max(1, BLOCK_BYTES // (4 * max(rows, 1)))


def _with_numpy(q: Floats, v: Floats, top: int) -> Ints:
    out = np.empty((len(q), top), dtype=np.int64)
    step = _block(len(v))
    for at in range(0, len(q), step):
        out[at : at + step] = _largest(q[at : at + step] @ v.T, top)
    return out


def _largest(scores: Floats, top: int) -> Ints:
    """Columns of the `top` largest scores of each row; equal scores in column order."""
    if top == 1:
        best: Ints = scores.argmax(axis=1)[:, None]
        return best
    if top < scores.shape[1]:
        # The top-th value decides who is in; among equals at the border the lower columns must win.
        border = -np.partition(-scores, top - 1, axis=1)[:, top - 1 : top]
        sure = scores > border
        room = top - sure.sum(axis=1, keepdims=True)
        tied = scores == border
        keep = sure | (tied & (np.cumsum(tied, axis=1) <= room))
        columns = np.nonzero(keep)[1].reshape(len(scores), top)
    else:
        columns = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    order = np.argsort(-np.take_along_axis(scores, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def _with_torch(q: Floats, v: Floats, top: int, device: str) -> Ints:
    import torch

    corpus = torch.as_tensor(v, device=device)
    out = np.empty((len(q), top), dtype=np.int64)
    step = _block(len(v))
    for at in range(0, len(q), step):
        scores = torch.as_tensor(q[at : at + step], device=device) @ corpus.T
        values, columns = torch.topk(scores, top, dim=1)
        # torch.topk promises no order among equals: sort its answer by column, then stably by score.
        columns, order = torch.sort(columns, dim=1)
        order = torch.sort(values.gather(1, order), dim=1, descending=True, stable=True).indices
        out[at : at + step] = columns.gather(1, order).cpu().numpy()
        # Nor which of several equals at the border it takes; the rare rows that have such are done again.
        tied = ((scores >= values[:, -1:]).sum(dim=1) > top).nonzero().flatten().cpu().numpy()
        if len(tied):
            out[at + tied] = _largest(scores[tied].cpu().numpy(), top)
    return out
