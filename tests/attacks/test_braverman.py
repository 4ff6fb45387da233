from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import Corpus
from bench.attacks.braverman import Braverman, rank
from bench.defenses.texthide import TextHide
from bench.isolation import view as views
from tests.helpers.scenarios import surfaces_of


def test_the_published_formula() -> None:
    rng = np.random.default_rng(0)
    x, s = rng.standard_normal((5, 8)), rng.standard_normal((30, 8))
    value = (x**2) @ (s**2).T - np.outer((x**2).sum(1), (s**2).sum(1)) / 8
    expected = np.argsort(-value, axis=1)[:, :7]
    assert np.array_equal(rank(x.astype(np.float32), s.astype(np.float32), 7), expected)


def test_gaussian_vectors_are_found_as_the_theory_says(tmp_path: Path) -> None:
    """For Gaussian vectors the mixed ones rank higher, whatever the signs; checked on a real view."""
    vectors = np.random.default_rng(0).standard_normal((400, 512)).astype(np.float32)
    release, key = TextHide(m="inf", k=2).release(vectors[:100], np.zeros((100, 1)), None, np.random.default_rng(1))
    views.write(
        tmp_path, ("corpus", "encodings"), surfaces_of(release), corpus=Corpus([str(i) for i in range(400)], vectors)
    )
    seen = views.View(tmp_path)
    ranking = Braverman().run(seen, np.random.default_rng(0)).ranking
    assert ranking is not None
    assert ranking.shape == (100, 16)
    assert (ranking[:, :1] == key.members).any(axis=1).mean() > 0.7
    assert seen.used == {"encodings", "corpus"}


def test_a_corpus_smaller_than_top() -> None:
    assert rank(np.ones((2, 3), np.float32), np.eye(3, dtype=np.float32), 16).shape == (2, 3)


def test_top_must_be_positive() -> None:
    with pytest.raises(ValueError, match="top"):
        Braverman(top=0)
