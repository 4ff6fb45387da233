from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from bench import search
from bench.errors import DataError
from bench.system import calibration
from bench.toolkit import scorers


def reference(queries: np.ndarray, vectors: np.ndarray, top: int) -> np.ndarray:
    """By exact scores, rounded to float32, and a full sort."""
    q, v = search.unit(queries), search.unit(vectors)
    scores = (q.astype(np.float64) @ v.T.astype(np.float64)).astype(np.float32)
    return np.argsort(-scores, axis=1, kind="stable")[:, :top]


@pytest.fixture(params=[*scorers.ENGINES])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each engine in turn, whatever the size."""
    monkeypatch.setattr(search, "choose", lambda *size: request.param)
    name: str = request.param
    return name


@pytest.mark.parametrize("top", [1, 5, 70, 200])
def test_engines_agree_with_a_full_sort(
    engine: str, top: int, monkeypatch: pytest.MonkeyPatch, sentence_vectors: Callable[..., np.ndarray]
) -> None:
    monkeypatch.setattr(search, "QUERIES", 7)
    monkeypatch.setattr(search, "VECTORS", 64)  # four blocks, the last one ragged and all smaller than the largest top
    vectors, queries = sentence_vectors(200, seed=1), sentence_vectors(40, seed=2)
    assert np.array_equal(search.nearest(queries, vectors, top), reference(queries, vectors, top))


def test_engines_name_the_same_rows_in_the_same_order(engine: str) -> None:
    """Many blocks, and vectors in which near and exact ties abound: copies, and copies that differ in the last bits."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((3000, 48)).astype(np.float32)
    near = base[:1500] + 1e-7 * rng.standard_normal((1500, 48)).astype(np.float32)
    vectors = np.concatenate([base, near, base[1000:1200], 3 * base[:100]])[rng.permutation(4800)]
    queries = np.concatenate([base[:200], rng.standard_normal((100, 48)).astype(np.float32)])
    assert np.array_equal(search.nearest(queries, vectors, 12), reference(queries, vectors, 12))


def test_blocks_and_tables_of_any_size_change_nothing(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    vectors, queries = rng.standard_normal((3000, 16)), rng.standard_normal((50, 16))
    wanted = search.nearest(queries, vectors, 9)
    for name, value in (("VECTORS", 100), ("QUERIES", 3), ("HALVINGS", 0), ("RARE", 1.0), ("RARE", 0.0), ("MOST", 40)):
        monkeypatch.setattr(search, name, value)
        assert np.array_equal(search.nearest(queries, vectors, 9), wanted), name


def test_vectors_that_nearly_coincide_are_told_apart(engine: str) -> None:
    """Cosines of 1 to five digits: bfloat16 cannot tell any of them from another."""
    rng = np.random.default_rng(2)
    vectors = (1 + 1e-3 * rng.standard_normal((5000, 32))).astype(np.float32)
    queries = (1 + 1e-3 * rng.standard_normal((20, 32))).astype(np.float32)
    assert np.array_equal(search.nearest(queries, vectors, 5), reference(queries, vectors, 5))


def test_ties_beyond_all_memory_are_answered(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST", 1000)
    vectors = np.ones((2000, 4), dtype=np.float32)
    assert (search.nearest(vectors[:9], vectors, 3) == [0, 1, 2]).all()


def test_scores_lie_within_the_error_that_scorers_state() -> None:
    rng = np.random.default_rng(3)
    for dim in (3, 384):
        q, v = (search.unit(rng.standard_normal((size, dim))) for size in (100, 500))
        exact = q.astype(np.float64) @ v.T.astype(np.float64)
        for name, make in scorers.ENGINES.items():
            scorer = make(q, v)
            scores = np.asarray(scorer.take(scorer.scores(slice(0, 500)), np.arange(100 * 500))).reshape(100, 500)
            assert (np.abs(scores - exact) <= scorer.error + scorer.relative * np.abs(scores)).all(), name


def test_small_searches_do_not_wait_for_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert scorers.choose(1000, 8551, 384, "cpu") == "numpy"
    assert "torch" not in sys.modules


def test_large_searches_take_what_is_fastest_here(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def fastest(task: str, ways: dict[str, Callable[[], object]]) -> str:
        asked.update(ways)
        return "torch bfloat16"

    monkeypatch.setattr(calibration, "fastest", fastest)
    assert scorers.choose(1000, 67_349, 384, "cpu") == "torch bfloat16"
    assert set(asked) == set(scorers.ENGINES)
    assert scorers.choose(1000, 67_349, 384, "cuda") == "torch"


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
