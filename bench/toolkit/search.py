"""Exact nearest neighbours by cosine, as fast as the machine's matrix product.

Two steps. A scorer (bench.toolkit.scorers: NumPy, torch, torch in bfloat16; whichever is fastest here) multiplies
queries with blocks of the corpus that stay in the cache, and of each block only those rows are kept that can be among
the nearest, given how far the scorer's rounding may be off. What is left, a few rows a query, is put in order: where
scores lie too close together for the scorer, by inner products that are added up in float64 and rounded to float32.
So neither the rows nor their order depend on the library, the blocks or the number of threads. Memory stays bounded
whatever the corpus: blocks of scores of at most 32 MiB, and a few million candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints
from bench.errors import DataError
from bench.toolkit.scorers import ENGINES, Scorer, TorchScorer, choose, rounding

# Queries and vectors of a block: measured in benchmarks/search.py.
QUERIES, VECTORS = 1024, 8192
# Columns whose maximum is looked at before the columns themselves: 2 ** 4.
HALVINGS = 4
# Share of the groups up to which looking into them one by one is faster than looking at all columns.
RARE = 1e-2
# Places in the table of candidates; where they do not suffice, fewer queries are searched at once.
MOST = 1 << 22
# What stands in its empty places: a score below every cosine, and a row that no corpus has.
BELOW, PADDING = np.float32(-4), (1 << 32) - 1
# A floor that every cosine reaches and no empty place does.
LEAST = np.float32(-2)
# Rows that are scaled or multiplied at a time, so that what is between stays in the cache.
STEP = 512


def nearest(queries: npt.ArrayLike, vectors: npt.ArrayLike, top: int = 1, *, device: str = "cpu") -> Ints:
    """Row numbers in `vectors` of the `top` largest cosines for each query, best first; ties go to the lower row.

    Cosines tie if they are equal in float32.
    """
    q, v = unit(queries, "queries"), unit(vectors, "corpus vectors")
    if q.shape[1] != v.shape[1]:
        raise DataError(f"queries have {q.shape[1]} dimensions but the corpus has {v.shape[1]}")
    top = min(top, len(v))
    if top < 1:
        raise DataError(f"cannot name {top} sentences out of a corpus of {len(v)}")
    engine = choose(len(q), len(v), v.shape[1], device)
    out = np.empty((len(q), top), dtype=np.int64)
    for at in range(0, len(q), QUERIES):
        out[at : at + QUERIES] = _search(q[at : at + QUERIES], v, top, engine, device)
    return out


def unit(array: npt.ArrayLike, what: str = "vectors") -> Floats:
    """Rows of length 1; a row of zeros stays, being equally far from everything."""
    values: Floats = np.asarray(array, dtype=np.float32)
    if values.ndim != 2:
        raise DataError(f"{what} must be a matrix, not of shape {values.shape}")
    scaled: Floats = np.empty(values.shape, dtype=np.float32)
    for at in range(0, len(values), STEP):
        some = values[at : at + STEP]
        norm: Floats = np.linalg.norm(some, axis=1, keepdims=True)
        if not np.isfinite(norm).all():
            raise DataError(f"{what} contain NaN or infinite values")
        norm[norm == 0] = 1
        np.divide(some, norm, out=scaled[at : at + STEP])
    return scaled


def _search(q: Floats, v: Floats, top: int, engine: str, device: str) -> Ints:
    """The rows for one block of queries."""
    scorer = ENGINES[engine](q, v) if device == "cpu" else TorchScorer(q, v, device)
    found = _candidates(scorer, len(q), len(v), top)
    if found is None and engine == "torch bfloat16":  # vectors that lie close together need more digits
        return _search(q, v, top, "torch", device)
    if found is None:
        half = len(q) // 2
        return np.concatenate([_search(some, v, top, engine, device) for some in (q[:half], q[half:])])
    scores, columns = found
    if engine == "torch bfloat16":
        scores = np.where(columns < PADDING, _rescored(q, v, columns), BELOW)
    return _ordered(q, v, scores, columns, top, rounding(q.shape[1]))


Table = tuple[Floats, Ints]
"""scores and columns of each query's candidates, filled up with BELOW and PADDING"""


def _candidates(scorer: Scorer, queries: int, vectors: int, top: int) -> Table | None:
    """All that can be among the `top` of a query; None where they are too many to hold at a time."""
    floor: Floats = np.full(queries, -np.inf, dtype=np.float32)
    rows, columns, scores = [], [], []
    held = limit = 0
    for at in range(0, vectors, VECTORS):
        block = slice(at, min(at + VECTORS, vectors))
        some = _block(scorer, scorer.scores(block), floor, top)
        rows.append(some[0])
        columns.append(some[1] + at)
        scores.append(some[2])
        held += len(some[0])
        if held > limit or block.stop == vectors:
            table = _table(np.concatenate(rows), np.concatenate(columns), np.concatenate(scores), queries)
            if table is None:
                return None
            floor = _floor(table[0], top, scorer.error, scorer.relative)
            there = table[0] >= floor[:, None]
            if block.stop == vectors and 2 * np.count_nonzero(there) > there.size:
                return table
            rows, columns, scores = [np.nonzero(there)[0]], [table[1][there]], [table[0][there]]
            held = len(rows[0])
            limit = held + 2 * queries * top
    return _table(rows[0], columns[0], scores[0], queries)


def _table(rows: Ints, columns: Ints, scores: Floats, queries: int) -> Table | None:
    """Candidates by query; None if that is too large."""
    order = np.argsort(rows.astype(np.uint16), kind="stable")  # a radix sort, for 16 bits
    rows = rows[order]
    counts = np.bincount(rows, minlength=queries)
    shape = (queries, int(counts.max()))
    if shape[0] * shape[1] > MOST and queries > 1:
        return None
    place = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    table, named = np.full(shape, BELOW), np.full(shape, PADDING)
    table[rows, place], named[rows, place] = scores[order], columns[order]
    return table, named


def _floor(scores: Floats, top: int, error: float, relative: float = 0.0) -> Floats:
    """What a score must reach to be among the `top`."""
    at = scores.shape[1] - top
    if at < 0:
        return np.full(len(scores), LEAST)
    return np.maximum(_lowered(np.partition(scores, at, axis=1)[:, at], error, relative), LEAST)


def _lowered(scores: Floats, error: float, relative: float) -> Floats:
    """What a score may be of something that is exactly as near: the first may be too high by its error, the other too
    low by as much. The last term stands for scores around 0, whose own part is less than that of what they are off."""
    lowered: Floats = scores - np.float32(2 * error) - np.float32(2.1 * relative) * (np.abs(scores) + np.float32(error))
    return lowered


def _block(scorer: Scorer, scores: Any, floor: Floats, top: int) -> tuple[Ints, Ints, Floats]:
    """What reaches the floor in one block of scores: query, column and score."""
    width = scores.shape[1]
    halvings = HALVINGS
    while halvings and (width % (1 << halvings) or width >> halvings < 4 * top):
        halvings -= 1
    maxima = scorer.maxima(scores, halvings)
    if np.isneginf(floor[0]) and top < width:  # the first block: at least `top` columns reach the top-th of the maxima
        floor = _lowered(scorer.largest(maxima, top), scorer.error, scorer.relative)
    groups = scorer.above(maxima, floor)
    if len(groups) < RARE * len(floor) * width:
        step = width >> halvings
        places = groups // step * width + groups % step
        places = (places[:, None] + np.arange(0, width, step)).ravel()
    else:
        places = scorer.above(scores, floor)
    rows, columns = np.divmod(places, width)
    values = scorer.take(scores, places)
    there = values >= floor[rows]
    return rows[there], columns[there], values[there]


def _rescored(q: Floats, v: Floats, columns: Ints) -> Floats:
    """Scores in float32 of each query's candidates."""
    out: Floats = np.empty(columns.shape, dtype=np.float32)
    step = max(1, STEP // columns.shape[1])
    room: Floats = np.empty((step, *columns.shape[1:], v.shape[1]), dtype=np.float32)
    for at in range(0, len(q), step):
        some = slice(at, at + step)
        taken = np.take(v, columns[some], axis=0, out=room[: len(columns[some])], mode="clip")
        np.matmul(taken, q[some, :, None], out=out[some, :, None])
    return out


def _ordered(q: Floats, v: Floats, scores: Floats, columns: Ints, top: int, error: float) -> Ints:
    """The first `top` of each query by exact score, equal ones by column."""
    scores = np.where(scores >= _floor(scores, top, error)[:, None], scores, BELOW)
    scores, columns = _sorted(scores, columns)
    # Neighbours within twice the error may stand the wrong way round.
    close = (scores[:, :-1] - scores[:, 1:] <= 2 * error) & (scores[:, 1:] > BELOW)
    unsure = np.zeros(scores.shape, dtype=bool)
    unsure[:, 1:] |= close
    unsure[:, :-1] |= close
    rows, at = np.nonzero(unsure)
    scores[rows, at] = _exact(q, v, rows, columns[rows, at])
    return _sorted(scores, columns)[1][:, :top]


def _sorted(scores: Floats, columns: Ints) -> tuple[Floats, Ints]:
    """Each row by falling score, equal ones by column: one whole number has the score in its upper bits, as an integer
    of the same order, and the column in its lower ones."""
    bits = (scores + np.float32(0)).view(np.int32)  # +0 and -0 are equal
    falling = ~(bits ^ ((bits >> 31) & 0x7FFFFFFF))
    both = np.sort((falling.astype(np.int64) << 32) | columns, axis=1)
    bits = ~(both >> 32).astype(np.int32)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.float32), both & 0xFFFFFFFF


def _exact(q: Floats, v: Floats, rows: Ints, columns: Ints) -> Floats:
    """Inner products of pairs, added up in float64: equal vectors have equal ones, on any machine."""
    out: Floats = np.empty(len(rows), dtype=np.float32)
    for at in range(0, len(rows), STEP):
        some = slice(at, at + STEP)
        out[some] = (q[rows[some]].astype(np.float64) * v[columns[some]]).sum(axis=1)
    return out
