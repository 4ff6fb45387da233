from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench import search
from bench.errors import DataError


def reference(queries: np.ndarray, vectors: np.ndarray, top: int) -> np.ndarray:
    q = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    v = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.argsort(-(q @ v.T), axis=1, kind="stable")[:, :top]


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("top", [1, 5, 200])
def test_engines_agree_with_a_full_sort(
    engine: str, top: int, monkeypatch: pytest.MonkeyPatch, sentence_vectors: Callable[..., np.ndarray]
) -> None:
    monkeypatch.setattr(search, "SMALL", 1e18 if engine == "numpy" else 0)
    monkeypatch.setattr(search, "BLOCK_BYTES", 4 * 200 * 7)  # blocks of seven queries
    vectors, queries = sentence_vectors(200, seed=1), sentence_vectors(40, seed=2)
    assert np.array_equal(search.nearest(queries, vectors, top), reference(queries, vectors, top))


def test_equal_vectors_are_named_in_row_order() -> None:
    vectors = np.array([[1, 0], [0, 1], [1, 0], [1, 0]], dtype=np.float32)
    assert search.nearest(vectors[:1], vectors, 2).tolist() == [[0, 2]]
    assert search.nearest(vectors[:1], vectors, 4).tolist() == [[0, 2, 3, 1]]


def test_more_answers_than_sentences_are_not_invented() -> None:
    assert search.nearest(np.ones((1, 2)), np.eye(2), 9).shape == (1, 2)


def test_a_zero_vector_is_answered() -> None:
    assert search.nearest(np.zeros((1, 2)), np.eye(2), 1).shape == (1, 1)


@pytest.mark.parametrize(
    ("queries", "said"), [(np.full((1, 2), np.nan), "NaN"), (np.ones((1, 3)), "dimensions"), (np.ones(2), "matrix")]
)
def test_bad_vectors_are_refused(queries: np.ndarray, said: str) -> None:
    with pytest.raises(DataError, match=said):
        search.nearest(queries, np.eye(2), 1)


def test_torch_breaks_ties_as_numpy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    vectors = np.repeat(rng.standard_normal((30, 8)), 3, axis=0).astype(np.float32)
    queries = rng.standard_normal((20, 8)).astype(np.float32)
    answers = []
    for small in (0, 1e18):
        monkeypatch.setattr(search, "SMALL", small)
        answers.append([search.nearest(queries, vectors, top) for top in (1, 2, 4)])
    for a, b in zip(*answers, strict=True):
        assert np.array_equal(a, b)
