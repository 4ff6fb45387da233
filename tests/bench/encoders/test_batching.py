"""Batches of a made-up tokenizer and network, and the way of vectors through the cache."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.encoders import batching
from bench.encoders.cache import VectorCache
from bench.errors import DataError

TEXTS = [f"{'word ' * (i % 11)}number {i}" for i in range(75)]


class Tokenizer:
    """A number for each word, between a start and an end; a second part, even an empty one, has an end of its own."""

    pad_token_id = 99

    def __call__(
        self, first: Sequence[str], second: Sequence[str] | None, *, truncation: bool, max_length: int
    ) -> dict[str, list[list[int]]]:
        ids, types = [], []
        for i, text in enumerate(first):
            row = [101, *map(_number, text.split()), 102]
            kind = [0] * len(row)
            if second is not None:
                more = [*map(_number, second[i].split()), 102]
                row, kind = row + more, kind + [1] * len(more)
            ids.append(row[:max_length] if truncation else row)
            types.append(kind[:max_length] if truncation else kind)
        return {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids], "token_type_ids": types}


def _number(word: str) -> int:
    return sum(map(ord, word))


def pooled(batch: dict[str, Any]) -> Any:
    """Of each row its tokens and their places; and the shape of the batch, by which rounding differs on a real one."""
    ids, mask, types = batch["input_ids"], batch["attention_mask"], batch["token_type_ids"]
    assert (mask.sum(1) > 0).all(), "a row that attends to nothing"
    assert (ids[mask == 0] == Tokenizer.pad_token_id).all(), "not the tokenizer's own padding"
    place = torch.arange(1, ids.shape[1] + 1)
    shape = torch.tensor(ids.shape).expand(len(ids), 2)
    own = [(ids * mask * place).sum(1), mask.sum(1), (types * ids).sum(1)]
    return torch.cat([torch.stack(own, 1), shape], 1)


def encode(texts: Sequence[str], max_length: int = 64) -> np.ndarray:
    return batching.encode_batches(pooled, Tokenizer(), texts, max_length, "cpu")


def test_a_vector_depends_on_its_text_alone() -> None:
    together = encode(TEXTS)
    order = np.random.default_rng(0).permutation(len(TEXTS))
    assert np.array_equal(encode([TEXTS[i] for i in order]), together[order])
    for row in (0, 10, 74):
        assert np.array_equal(encode([TEXTS[row]]), together[[row]])


def test_batches_are_of_one_size_and_padded_in_steps() -> None:
    found = encode(TEXTS)
    tokens = np.array([len(text.split()) + 2 for text in TEXTS])
    assert np.array_equal(found[:, 1], tokens)
    assert set(found[:, 3]) == {batching.ROWS}
    assert np.array_equal(found[:, 4], -(-tokens // batching.STEP) * batching.STEP)


def test_long_texts_are_cut() -> None:
    found = encode(["word " * 50, "one two"], max_length=8)
    assert found[:, 1].tolist() == [8, 4]
    assert np.array_equal(found[0], encode(["word " * 90], max_length=8)[0])


def test_pairs_are_told_from_single_texts_beside_them() -> None:
    mixed = ["a dog", "a dog\ta cat", "rain", "a dog\t"]
    together = encode(mixed)
    assert np.array_equal(together, np.concatenate([encode([text]) for text in mixed]))
    assert together[:, 1].tolist() == [4, 7, 3, 5]  # a single text is given no empty second part
    assert together[:, 2].tolist() == [0, _number("a") + _number("cat") + 102, 0, 102]


class Encoder:
    """Counts what it is asked for."""

    fingerprint = "made-up"

    def __init__(self, fails_at: str = "") -> None:
        self.asked: list[list[str]] = []
        self.devices: set[str] = set()
        self.fails_at = fails_at

    def encode(self, texts: Sequence[str], device: str = "cpu") -> np.ndarray:
        self.asked.append(list(texts))
        self.devices.add(device)
        if self.fails_at in texts:
            raise KeyboardInterrupt
        return _vectors(texts)


def _vectors(texts: Sequence[str]) -> np.ndarray:
    return np.array([[len(text), _number(text)] for text in texts], dtype=np.float32)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(batching, "CHUNK", 2)


def test_the_cache_answers_the_second_time() -> None:
    first, second = Encoder(), Encoder()
    texts = ["bb", "a", "bb", "dddd", "ccc"]
    assert np.array_equal(batching.encode_cached(first, texts, device="meta"), _vectors(texts))
    assert first.asked == [["dddd", "ccc"], ["bb", "a"]]  # the longest first, each once
    assert first.devices == {"meta"}
    assert np.array_equal(batching.encode_cached(second, texts[::-1]), _vectors(texts[::-1]))
    assert second.asked == []


def test_another_encoder_has_vectors_of_its_own() -> None:
    batching.encode_cached(Encoder(), ["a"])
    other = Encoder()
    other.fingerprint = "another"
    batching.encode_cached(other, ["a"])
    assert other.asked == [["a"]]


def test_progress_counts_what_is_still_to_be_encoded() -> None:
    said: list[tuple[int, int]] = []
    batching.encode_cached(Encoder(), ["known"])
    texts = ["known", "a", "bb", "ccc", "a", "dddd", "eeeee"]
    batching.encode_cached(Encoder(), texts, progress=lambda *now: said.append(now))
    assert said == [(0, 5), (2, 5), (4, 5)]
    batching.encode_cached(Encoder(), texts, progress=lambda *now: said.append(now))
    assert len(said) == 3


def test_an_interrupted_run_goes_on_where_it_was() -> None:
    texts = ["a", "bb", "ccc", "dddd"]
    with pytest.raises(KeyboardInterrupt):
        batching.encode_cached(Encoder(fails_at="a"), texts)
    again = Encoder()
    assert np.array_equal(batching.encode_cached(again, texts), _vectors(texts))
    assert again.asked == [["bb", "a"]]


def test_a_damaged_vector_is_made_again_and_mended() -> None:
    texts = ["a", "bb"]
    batching.encode_cached(Encoder(), texts)
    with sqlite3.connect(VectorCache(Encoder.fingerprint).path) as db:
        db.execute("UPDATE vectors SET vector = zeroblob(8)")
    healing, healed = Encoder(), Encoder()
    assert np.array_equal(batching.encode_cached(healing, texts), _vectors(texts))
    assert healing.asked == [["bb", "a"]]
    assert np.array_equal(batching.encode_cached(healed, texts), _vectors(texts))
    assert healed.asked == []


def test_bad_vectors_are_refused_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder()
    monkeypatch.setattr(encoder, "encode", lambda texts, device: np.full((len(texts), 2), np.nan))
    with pytest.raises(DataError, match="the encoder gave NaN or infinite values for 1 of 1 texts"):
        batching.encode_cached(encoder, ["a"])
    assert np.array_equal(batching.encode_cached(Encoder(), ["a"]), _vectors(["a"]))
