from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bench import Corpus
from bench.attacks.magnitude_search import MagnitudeSearch
from bench.attacks.rss import RSS
from bench.defenses.texthide import TextHide


def sentences(count: int, dim: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (rng.standard_normal((count, dim)) + rng.standard_normal(dim)).astype(np.float32)


def view(encodings: np.ndarray, vectors: np.ndarray) -> SimpleNamespace:
    corpus = Corpus([str(i) for i in range(len(vectors))], vectors)
    return SimpleNamespace(encodings=encodings, corpus=corpus, device="cpu", stage=lambda text: None)


def hit(ranking: np.ndarray, members: np.ndarray) -> float:
    return float((ranking[:, :1] == members).any(axis=1).mean())


def test_one_of_the_mixed_is_named_first_where_signs_fail() -> None:
    vectors = sentences(500, 256)
    release, key = TextHide(m="inf").release(vectors[:200], np.zeros((200, 1)), None, np.random.default_rng(1))
    seen = view(release.encodings, vectors)
    found = MagnitudeSearch().run(seen, np.random.default_rng(0)).ranking
    assert found is not None
    assert found.shape == (200, 16)
    assert hit(found, key.members) > 0.7
    by_signs = RSS().run(seen, np.random.default_rng(0)).ranking  # type: ignore[arg-type]
    assert by_signs is not None
    assert hit(by_signs, key.members) < 0.1


def test_encodings_are_centred_by_their_own_mean() -> None:
    """Mixing shrinks magnitudes alike on all encodings; that must not count as evidence."""
    vectors = sentences(500, 256)
    release, key = TextHide(m="inf").release(vectors[:200], np.zeros((200, 1)), None, np.random.default_rng(1))
    shifted = np.sign(release.encodings) * (np.abs(release.encodings) + np.linspace(0, 3, 256, dtype=np.float32))
    found = MagnitudeSearch().run(view(shifted, vectors), np.random.default_rng(0)).ranking  # type: ignore[arg-type]
    assert found is not None
    assert hit(found, key.members) > 0.7


@pytest.mark.parametrize("count", [1, 3])
def test_few_encodings_are_not_centred_away(count: int) -> None:
    vectors = sentences(300, 256)
    masks = np.where(np.random.default_rng(2).random((count, 256)) < 0.5, -1, 1).astype(np.float32)
    found = MagnitudeSearch().run(view(vectors[:count] * masks, vectors), np.random.default_rng(0)).ranking  # type: ignore[arg-type]
    assert found is not None
    assert found[:, 0].tolist() == list(range(count))


def test_constant_coordinates_and_zeros() -> None:
    vectors = np.concatenate([sentences(50, 32), np.full((50, 2), 5.0, np.float32)], axis=1)
    encodings = np.concatenate([-vectors[:5], np.zeros((1, 34), np.float32)])
    found = MagnitudeSearch(top=100).run(view(encodings, vectors), np.random.default_rng(0)).ranking  # type: ignore[arg-type]
    assert found is not None
    assert found.shape == (6, 50)
    assert found[:5, 0].tolist() == [0, 1, 2, 3, 4]


def test_top_must_be_positive() -> None:
    with pytest.raises(ValueError, match="top"):
        MagnitudeSearch(top=0)
