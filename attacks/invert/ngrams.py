"""Pairs of neighbouring words in the public corpus: which word may stand between two others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from bench import Floats, Ints
from bench.attacks.invert.words import BEGIN, END, SPECIAL, Vocabulary

SEEN = 0.8
"""weight of the pairs that were seen; the rest is that of single words"""


class Neighbours:
    """Log-likelihoods of pairs, interpolated with those of single words."""

    def __init__(self, vocabulary: Vocabulary, texts: Sequence[str]):
        size = len(vocabulary)
        numbers = np.array([i for text in texts for i in (BEGIN, *vocabulary.numbers(text), END)], dtype=np.int64)
        left, right = numbers[:-1], numbers[1:]
        inner = left != END
        pairs = csr_matrix((np.ones(int(inner.sum()), np.float32), (left[inner], right[inner])), (size, size))
        pairs.sum_duplicates()
        single = np.bincount(right[inner], minlength=size) + 0.1
        self.single = np.log(single / single.sum()).astype(np.float32)
        total = np.maximum(np.asarray(pairs.sum(axis=1)).ravel(), 1.0)
        # log of the factor by which a pair that was seen is likelier than its second word alone, less (1 - SEEN)
        rows = np.repeat(np.arange(size), np.diff(pairs.indptr))
        ratio = SEEN * pairs.data / total[rows] / np.exp(self.single[pairs.indices])
        pairs.data = (np.log(ratio + 1 - SEEN) - np.log(1 - SEEN)).astype(np.float32)
        self._by_left: csr_matrix = pairs
        self._by_right: csc_matrix = pairs.tocsc()

    def after(self, left: Ints) -> Floats:
        """Log-likelihood of every word after each of these: n × words."""
        found: Floats = self._by_left[left].toarray() + self.single + np.float32(np.log(1 - SEEN))
        found[:, :SPECIAL] = -np.inf
        return found

    def before(self, right: Ints) -> Floats:
        """How much likelier each of these is after every word than alone: n × words."""
        found: Floats = self._by_right[:, right].toarray().T + np.float32(np.log(1 - SEEN))
        return found

    def among(self, words: Ints) -> Floats:
        """Log-likelihood of each of these words after each other."""
        found: Floats = self._by_left[words][:, words].toarray() + self.single[words] + np.float32(np.log(1 - SEEN))
        return found

    def sentences(self, sentences: Sequence[Sequence[int]]) -> Floats:
        """Log-likelihood of each sentence, its end included."""
        framed = [(BEGIN, *words, END) for words in sentences]
        left = np.array([i for words in framed for i in words[:-1]], dtype=np.int64)
        right = np.array([i for words in framed for i in words[1:]], dtype=np.int64)
        each = np.asarray(self._by_left[left, right]).ravel() + self.single[right] + np.log(1 - SEEN)
        counts = np.array([len(words) - 1 for words in framed])
        found: Floats = np.add.reduceat(each, np.concatenate([[0], counts.cumsum()[:-1]])).astype(np.float32)
        return found
