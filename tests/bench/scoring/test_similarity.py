"""Texts beside texts, with numbers that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bench import Corpus, Examples, Key
from bench.scoring.metrics.corpus import NOTHING
from bench.scoring.similarity import Similarity
from bench.scoring.truth import Truth

PRIVATE = ["the cat sat", "a dog ran", "birds sing"]
CORPUS = ["The CAT sat!", "a dog slept", "rain"]
VECTORS = {"the cat sat": [1, 0], "a dog ran": [0, 1], "birds sing": [0.6, 0.8], "The CAT sat!": [0.8, 0.6]}


def embed(texts: Sequence[str]) -> np.ndarray:
    return np.array([VECTORS.get(text, [0, 1]) for text in texts], dtype=np.float32)


def truth(private: Sequence[str] = PRIVATE, corpus: Sequence[str] = CORPUS) -> Truth:
    n = len(private)
    key = Key(np.arange(n), np.arange(n)[:, None], np.ones((n, 1), np.float32))
    examples = Examples(private, [0.6, 2.0, 1.0][:n])
    labels = np.array([1.4, 1.0, 1.0][: len(corpus)])
    return Truth(examples, np.eye(n, dtype=np.float32), key, Corpus(list(corpus), np.eye(len(corpus))), labels)


def test_pairs_are_compared_row_by_row() -> None:
    compared = Similarity(CORPUS, embed).pairs(truth(), np.array([0, 1]), CORPUS[:2], np.array([0, 1]))
    both, either = compared.words()
    assert both.tolist() == [3, 2]  # case and marks do not count
    assert either.tolist() == [3, 4]
    assert compared.sbert() == pytest.approx([0.8, 1.0])
    # "ran" is not in the corpus that tf-idf is fitted on, so of "a dog ran" only "a dog" counts.
    assert compared.tfidf() == pytest.approx([1, np.sqrt(2 / 3)])
    assert compared.same.tolist() == [False, False]  # equal is equal letter by letter


def test_equal_texts_are_the_same() -> None:
    compared = Similarity(CORPUS, embed).pairs(
        truth(), np.array([2, 1]), ["birds sing", "birds sing"], np.array([2, 1])
    )
    assert compared.same.tolist() == [True, False]
    assert compared.sbert() == pytest.approx([1, 0.8])


def test_a_word_counts_once_however_often_it_occurs() -> None:
    world = truth(["cat cat cat dog"], ["cat bird bird"])
    compared = Similarity(world.corpus.texts, embed).pairs(world, np.array([0]), ["cat bird bird"], np.array([0]))
    both, either = compared.words()
    assert (both.tolist(), either.tolist()) == ([1], [3])


def test_rare_words_weigh_more_than_common_ones() -> None:
    corpus = ["the cat", "the dog", "the cow", "the hen"]
    world = truth(["the cat"], corpus)
    same = Similarity(corpus, embed)
    common = same.pairs(world, np.array([0]), ["the zebra"], np.array([NOTHING])).tfidf()
    rare = same.pairs(world, np.array([0]), ["zebra cat"], np.array([NOTHING])).tfidf()
    assert 0 < common[0] < rare[0] < 1


def test_labels_agree_when_they_round_alike_and_an_answer_outside_the_corpus_has_none() -> None:
    compare = Similarity(CORPUS, embed)
    compared = compare.pairs(truth(), np.array([0, 1, 2]), ["x", "y", "z"], np.array([0, 1, 2]))
    assert compared.same_label.tolist() == [True, False, True]
    outside = compare.pairs(truth(), np.array([0, 2]), ["x", "z"], np.array([NOTHING, NOTHING]))
    assert outside.same_label.tolist() == [False, False]


def test_a_table_holds_what_the_pairs_do() -> None:
    compare, world = Similarity(CORPUS, embed), truth()
    examples, rows = np.array([2, 0]), np.array([1, 0, 2])
    table = compare.table(world, examples, rows)
    both, either = table.words()
    assert both.shape == either.shape == table.sbert().shape == table.same_label.shape == (2, 3)
    for i, example in enumerate(examples):
        for j, row in enumerate(rows):
            pair = compare.pairs(world, np.array([example]), [CORPUS[row]], np.array([row]))
            assert (both[i, j], either[i, j]) == tuple(float(count[0]) for count in pair.words())
            assert table.tfidf()[i, j] == pytest.approx(pair.tfidf()[0])
            assert table.sbert()[i, j] == pytest.approx(pair.sbert()[0])
            assert table.same_label[i, j] == pair.same_label[0]
    assert both[1].tolist() == [0, 3, 0]


def test_a_pair_of_sentences_is_read_as_the_words_of_both() -> None:
    world = truth(["a cat\tsleeps"], ["sleeps a\tcat"])
    seen: list[str] = []

    def spy(texts: Sequence[str]) -> np.ndarray:
        seen.extend(texts)
        return embed(texts)

    compared = Similarity(world.corpus.texts, spy).pairs(world, np.array([0]), world.corpus.texts, np.array([0]))
    both, either = compared.words()
    assert both.tolist() == either.tolist() == [3]
    assert compared.tfidf() == pytest.approx([1])
    assert seen == ["a cat\tsleeps", "sleeps a\tcat"]  # the encoder splits them itself


def test_an_answer_for_each_example_is_asked_for() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Similarity(CORPUS, embed).pairs(truth(), np.array([0, 1]), ["one"], np.array([0, 1]))
