"""Text → vector: the [CLS] token of a transformer, or the mean of its tokens.

Vectors are a function of the text alone, bit for bit: every batch has the same number of rows and a length that
only its texts decide, so it does not matter which texts are encoded together, nor whether a run was interrupted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from . import models
from .cache import VectorCache, text_key
from .errors import DataError
from .plugin import encoder
from .search import unit
from .types import PAIR, Floats

# Rows of a batch, and the step in which lengths grow. Measured in benchmarks/encoding.py.
ROWS = 32
STEP = 4
# Texts between two writes to the cache: a killed run loses at most these.
CHUNK = 2048

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Transformer:
    """Any hub id or folder: `hub:org/name` or `hub:path`."""

    model: str
    """hub id or folder"""
    pooling: Literal["cls", "mean"] = "cls"
    """the first token, as the papers do, or the mean over all tokens"""
    max_length: int = 128
    """tokens after which a text is cut"""

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        """n × d float32; a pair is given as one string with a tab between its sentences."""
        network, tokenizer = self._loaded
        network.to(device)

        def pooled(batch: dict[str, Any]) -> Any:
            hidden = network(**batch).last_hidden_state
            if self.pooling == "cls":
                return hidden[:, 0]
            seen = batch["attention_mask"].unsqueeze(2)
            return (hidden * seen).sum(1) / seen.sum(1)

        return _forward(pooled, tokenizer, texts, self.max_length, device)

    @property
    def fingerprint(self) -> str:
        """Changes when weights, tokenizer, pooling or length change."""
        text = f"{models.fingerprint(self.folder)}|{self.pooling}|{self.max_length}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def dim(self) -> int:
        import json

        size: int = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))["hidden_size"]
        return size

    @cached_property
    def folder(self) -> Path:
        """Where the weights are."""
        return models.find(self.model)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        network = AutoModel.from_pretrained(self.folder, local_files_only=True)
        return network.eval(), AutoTokenizer.from_pretrained(self.folder, local_files_only=True)


@encoder("hub")
@dataclass(frozen=True)
class Hub(Transformer):
    """Any model of the hub or any folder: hub:org/name, hub:./folder."""


@encoder("minilm", paper="sentence-transformers/all-MiniLM-L6-v2")
@dataclass(frozen=True)
class MiniLM(Transformer):
    """all-MiniLM-L6-v2: 6 layers, 384 dimensions."""

    model: str = "sentence-transformers/all-MiniLM-L6-v2"


@encoder("mpnet", paper="sentence-transformers/all-mpnet-base-v2")
@dataclass(frozen=True)
class MPNet(Transformer):
    """all-mpnet-base-v2: 12 layers, 768 dimensions."""

    model: str = "sentence-transformers/all-mpnet-base-v2"


@encoder("bert", paper="Devlin et al. 2019")
@dataclass(frozen=True)
class Bert(Transformer):
    """bert-base-cased: 12 layers, 768 dimensions."""

    model: str = "google-bert/bert-base-cased"


@encoder("roberta", paper="Liu et al. 2019")
@dataclass(frozen=True)
class Roberta(Transformer):
    """roberta-base: 12 layers, 768 dimensions."""

    model: str = "FacebookAI/roberta-base"


@dataclass(frozen=True)
class SentenceBert:
    """The off-the-shelf scorer behind the `sbert` metric; vectors have length 1."""

    model: str = "sentence-transformers/all-MiniLM-L6-v2"

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        network = self._loaded.to(device)
        plain = [text.replace(PAIR, " ") for text in texts]
        # Its own batching would make a vector depend, in the last bits, on the texts beside it.
        vectors = _forward(
            lambda batch: network(batch)["sentence_embedding"],
            network.tokenizer,
            plain,
            network.max_seq_length or 128,
            device,
        )
        return unit(vectors)

    @property
    def fingerprint(self) -> str:
        return f"sbert-{models.fingerprint(self.folder)}"

    @cached_property
    def folder(self) -> Path:
        """Where the weights are."""
        return models.find(self.model)

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # it would write across our own
        return SentenceTransformer(str(self.folder), local_files_only=True).eval()


def cached(encoder: Any, texts: Sequence[str], *, device: str = "cpu", progress: Progress | None = None) -> Floats:
    """`encoder.encode(texts)`, from the disk as far as possible; new vectors are saved as they come."""
    store = VectorCache(encoder.fingerprint)
    found = store.get(texts)
    distinct = list(dict.fromkeys(texts))
    missing = [text for text in distinct if text_key(text) not in found]
    # Longest first: a memory problem shows at once, and the time left is not underestimated.
    missing.sort(key=len, reverse=True)
    for at in range(0, len(missing), CHUNK):
        if progress:
            progress(at, len(missing))
        some = missing[at : at + CHUNK]
        fresh = checked(encoder.encode(some, device=device), len(some), "the encoder")
        store.put(some, fresh)
        found.update(zip(map(text_key, some), fresh, strict=True))
    vectors = np.stack([found[text_key(text)] for text in texts])
    return checked(vectors, len(texts), "the cached vectors")


def checked(vectors: Any, count: int, what: str) -> Floats:
    """A finite count × d float32 matrix, or an error that says what is wrong with it."""
    array: Floats = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or len(array) != count:
        raise DataError(f"{what} gave shape {array.shape} for {count} texts: expected {count} × d")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise DataError(f"{what} gave NaN or infinite values for {int(bad.sum())} of {count} texts")
    return array


def _forward(
    pooled: Callable[[dict[str, Any]], Any],
    tokenizer: Any,
    texts: Sequence[str],
    max_length: int,
    device: str,
) -> Floats:
    """`pooled` turns a batch of token numbers into ROWS × d."""
    import torch

    tokens = _tokens(tokenizer, texts, max_length)
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


def _tokens(tokenizer: Any, texts: Sequence[str], max_length: int) -> dict[str, list[list[int]]]:
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
