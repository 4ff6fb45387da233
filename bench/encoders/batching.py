"""Batched encoding, and encoding through the cache of vectors.

Vectors are a function of the text alone, bit for bit: every batch has the same number of rows and a length that
only its texts decide, so it does not matter which texts are encoded together, nor whether a run was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bench.arrays import PAIR, Floats
from bench.encoders.cache import VectorCache, text_key
from bench.errors import DataError

# Rows of a batch, and the step in which lengths grow. Measured in benchmarks/encoding.py.
ROWS = 32
STEP = 4
# Texts between two writes to the cache: a killed run loses at most these.
CHUNK = 2048
Progress = Callable[[int, int], None]


def encode_cached(
    encoder: Any, texts: Sequence[str], *, device: str = "cpu", progress: Progress | None = None
) -> Floats:
    """`encoder.encode(texts)` through the vector cache; new vectors are saved in chunks."""
    store = VectorCache.of(encoder)
    found = store.get(texts)
    distinct = list(dict.fromkeys(texts))
    missing = [text for text in distinct if text_key(text) not in found]
    # Longest first: a memory problem shows at once, and the time left is not underestimated.
    missing.sort(key=len, reverse=True)
    for at in range(0, len(missing), CHUNK):
        if progress:
            progress(at, len(missing))
        some = missing[at : at + CHUNK]
        fresh = check_vectors(encoder.encode(some, device=device), len(some), "the encoder")
        store.put(some, fresh)
        found.update(zip(map(text_key, some), fresh, strict=True))
    vectors = np.stack([found[text_key(text)] for text in texts])
    return check_vectors(vectors, len(texts), "the cached vectors")


def check_vectors(vectors: Any, count: int, what: str) -> Floats:
    """A finite count × d float32 matrix, or an error that says what is wrong with it."""
    array: Floats = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != count:
        raise DataError(f"{what} gave shape {array.shape} for {count} texts: expected {count} × d")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise DataError(f"{what} gave NaN or infinite values for {int(bad.sum())} of {count} texts")
    return array


def encode_batches(
    pooled: Callable[[dict[str, Any]], Any],
    tokenizer: Any,
    texts: Sequence[str],
    max_length: int,
    device: str,
) -> Floats:
    """n × d vectors; `pooled` turns a batch of token numbers into ROWS × d."""
    import torch

    tokens = tokens_of(tokenizer, texts, max_length)
    columns = {name: (values, 0) for name, values in tokens.items()}
    columns["input_ids"] = (tokens["input_ids"], tokenizer.pad_token_id or 0)
    parts: list[Any] = [None] * len(texts)
    with torch.inference_mode():
        for rows, length in _batches([len(i) for i in tokens["input_ids"]]):
            batch = {name: _padded(values, rows, length, filler) for name, (values, filler) in columns.items()}
            batch["attention_mask"][len(rows) :, 0] = 1  # filler rows attend to something, or their softmax is NaN
            vectors = pooled({name: torch.as_tensor(block, device=device) for name, block in batch.items()})
            for row, vector in zip(rows, vectors.float().cpu().numpy(), strict=False):
                parts[row] = vector
    return np.stack(parts)


def tokens_of(tokenizer: Any, texts: Sequence[str], max_length: int) -> dict[str, list[list[int]]]:
    """Token numbers of each text. Pairs apart from the others: in one call with them a single text would be given an
    empty second part, and with it another vector."""
    found: dict[str, list[list[int]]] = {}
    for paired in (False, True):
        rows = [row for row, text in enumerate(texts) if (PAIR in text) == paired]
        if not rows:
            continue
        parts = [texts[row].partition(PAIR) for row in rows]
        second = [part[2] for part in parts] if paired else None
        tokens = tokenizer([part[0] for part in parts], second, truncation=True, max_length=max_length)
        for name in {"input_ids", "attention_mask", "token_type_ids"} & set(tokens):
            column = found.setdefault(name, [[] for _ in texts])
            for row, values in zip(rows, tokens[name], strict=True):
                column[row] = values
    return found


def _batches(lengths: list[int]) -> Iterator[tuple[list[int], int]]:
    """Rows of about equal length, at most ROWS at a time, with the length they are padded to."""
    buckets: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        buckets.setdefault(-(-length // STEP) * STEP, []).append(row)
    for length, rows in sorted(buckets.items()):
        for at in range(0, len(rows), ROWS):
            yield rows[at : at + ROWS], length


def _padded(values: list[list[int]], rows: list[int], length: int, filler: int) -> Any:
    block = np.full((ROWS, length), filler, dtype=np.int64)
    for at, row in enumerate(rows):
        block[at, : len(values[row])] = values[row]
    return block
