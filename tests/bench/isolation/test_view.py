from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench import Corpus, View
from bench.isolation import view
from bench.plugins.decorators import SEES
from bench.surfaces.encodings import Encodings
from bench.surfaces.labels import Labels


def lay_out(folder: Path, sees: set[str], vectors: np.ndarray) -> View:
    released = {"encodings": Encodings(vectors), "labels": Labels(np.eye(2, dtype=np.float32)[[0, 1, 0]])}
    corpus = Corpus(["a", "b", "c"], vectors)
    scheme = {"name": "none", "options": {}}
    view.write(folder, sees, released, corpus=corpus, public=corpus, defense=scheme, encoder={})
    return View(folder)


@pytest.mark.parametrize("word", SEES)
def test_touching_what_was_not_declared_names_the_missing_word(
    word: str, tmp_path: Path, sentence_vectors: Callable[..., np.ndarray]
) -> None:
    seen = lay_out(tmp_path, set(), sentence_vectors(3))
    with pytest.raises(view.NotGranted, match=f"add '{word}' to sees"):
        getattr(seen, word)


def test_what_was_not_declared_is_not_even_on_disk(tmp_path: Path, sentence_vectors: Callable[..., np.ndarray]) -> None:
    lay_out(tmp_path, {"encodings"}, sentence_vectors(3))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["encodings.npy", "view.json"]
    assert "defense" not in (tmp_path / "view.json").read_text()


def test_what_was_declared_is_there_and_use_is_noted(
    tmp_path: Path, sentence_vectors: Callable[..., np.ndarray]
) -> None:
    vectors = sentence_vectors(3)
    seen = lay_out(tmp_path, {"encodings", "labels", "corpus", "public"}, vectors)
    assert np.array_equal(seen.encodings, vectors)
    assert seen.encodings.dtype == np.float32
    assert seen.labels.shape == (3, 2)
    assert seen.corpus.search(vectors, 1).tolist() == [[0], [1], [2]]
    assert seen.used == {"encodings", "labels", "corpus"}


def test_the_view_cannot_be_written_to(tmp_path: Path, sentence_vectors: Callable[..., np.ndarray]) -> None:
    seen = lay_out(tmp_path, {"encodings"}, sentence_vectors(3))
    with pytest.raises(ValueError, match="read-only"):
        seen.encodings[0, 0] = 1


def test_a_word_that_no_view_knows_is_an_ordinary_error(
    tmp_path: Path, sentence_vectors: Callable[..., np.ndarray]
) -> None:
    seen = lay_out(tmp_path, {"encodings"}, sentence_vectors(3))
    with pytest.raises(AttributeError, match="a view has no 'encoding'"):
        _ = seen.encoding
    assert not seen.refused
