from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench import Corpus, Guess, View
from bench.isolation import view
from bench.plugins.registry import Registry
from tests.helpers.scenarios import surfaces_of


def attack(tmp_path: Path, defense: str, vectors: np.ndarray, corpus: np.ndarray) -> tuple[Guess, np.ndarray]:
    labels = np.zeros((len(vectors), 2), dtype=np.float32)
    release, key = Registry().make("defense", defense).release(vectors, labels, None, np.random.default_rng(0))
    view.write(tmp_path, {"encodings", "corpus"}, surfaces_of(release), corpus=Corpus([""] * len(corpus), corpus))
    return Registry().make("attack", "rss:top=5").run(View(tmp_path), np.random.default_rng(0)), key.owner


def test_it_finds_what_is_not_hidden(tmp_path: Path, sentence_vectors: Callable[..., np.ndarray]) -> None:
    corpus = sentence_vectors(300)
    guess, owner = attack(tmp_path, "none", corpus[100:200], corpus)
    assert guess.ranking is not None
    assert guess.ranking.shape == (100, 5)
    assert np.array_equal(guess.ranking[:, 0], owner + 100)


def test_a_mask_hides_from_it_and_a_mix_does_not_quite(
    tmp_path: Path, sentence_vectors: Callable[..., np.ndarray]
) -> None:
    corpus = sentence_vectors(300)
    found = {}
    for defense in ("mix-only", "texthide"):
        folder = tmp_path / defense
        folder.mkdir()
        guess, owner = attack(folder, defense, corpus[100:200], corpus)
        assert guess.ranking is not None
        found[defense] = float((guess.ranking[:, 0] == owner + 100).mean())
    assert found["mix-only"] > 0.1
    assert found["texthide"] < 0.05
