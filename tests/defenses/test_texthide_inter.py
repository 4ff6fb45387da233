from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bench import Corpus, mixing
from bench.errors import DataError, UsageError
from bench.plugins.registry import Registry


def slow_labels(labels: np.ndarray, members: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The paper's formula, item by item: normalised over the private weights."""
    out = []
    for row, share in zip(members, weights, strict=True):
        private = [(w, labels[i]) for i, w in zip(row, share, strict=True) if i >= 0]
        out.append(sum(w * y for w, y in private) / sum(w for w, _ in private))
    return np.array(out)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_half_of_each_mix_is_public_and_labels_follow_the_formula(
    k: int, sentence_vectors: Callable[..., np.ndarray]
) -> None:
    vectors, public = sentence_vectors(40), Corpus([""] * 25, sentence_vectors(25, seed=9))
    labels = np.eye(3, dtype=np.float32)[np.arange(40) % 3]
    defense = Registry().make("defense", f"texthide-inter:m=8,k={k}")
    release, key = defense.release(vectors, labels, public, np.random.default_rng(0), epochs=3)
    own = -(-k // 2)
    assert (key.members[:, :own] >= 0).all()
    assert (key.members[:, own:] == -1).all()
    assert (key.public[:, :own] == -1).all()
    assert ((key.public[:, own:] >= 0) & (key.public[:, own:] < 25)).all()
    np.testing.assert_allclose(release.labels, slow_labels(labels, key.members, key.weights), atol=1e-5)
    np.testing.assert_allclose(np.asarray(release.labels).sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(release.encodings, mixing.apply(vectors, key, public))
    expected = np.stack(
        [
            sum(
                w * (vectors[i] if i >= 0 else public.vectors[p])
                for w, i, p in zip(key.weights[row], key.members[row], key.public[row], strict=True)
            )
            for row in range(120)
        ]
    )
    np.testing.assert_allclose(release.encodings, expected * key.pool[key.mask], atol=1e-5)


def test_the_official_code_fills_up_with_random_private_labels(sentence_vectors: Callable[..., np.ndarray]) -> None:
    vectors, public = sentence_vectors(40), Corpus([""] * 25, sentence_vectors(25))
    labels = np.eye(40, dtype=np.float32)
    defense = Registry().make("defense", "texthide:public=auto,k=4,labels=official-code,distinct=true")
    release, key = defense.release(vectors, labels, public, np.random.default_rng(0))
    mixed = np.asarray(release.labels)
    assert (np.count_nonzero(mixed, axis=1) > 2).mean() > 0.9  # strangers beside the two private ones
    np.testing.assert_allclose(mixed.sum(axis=1), 1, atol=1e-5)
    for j in range(2):
        assert (mixed[np.arange(40), key.members[:, j]] >= key.weights[:, j] - 1e-6).all()


def test_an_empty_public_corpus_is_refused(sentence_vectors: Callable[..., np.ndarray]) -> None:
    defense = Registry().make("defense", "texthide-inter")
    for public in (None, Corpus([], np.empty((0, 48), dtype=np.float32))):
        with pytest.raises(DataError, match="needs a public corpus"):
            defense.release(sentence_vectors(40), np.zeros((40, 2)), public, np.random.default_rng(0))
    with pytest.raises(UsageError, match="for none, use texthide"):
        Registry().make("defense", "texthide-inter:public=")
