"""What the text metrics are computed from: an example's text beside the one that was named for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from bench.arrays import PAIR, Floats, Ints
from bench.scoring.metrics.corpus import NOTHING
from bench.scoring.truth import Truth

WORD = r"(?u)\b\w+\b"

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Features:
    """Of some texts: words that occur, TF-IDF weights (both sparse), and unit-length sentence embeddings."""

    words: Any
    tfidf: Any
    sbert: Floats


@dataclass(frozen=True)
class Comparison:
    """Examples' texts against others: row by row, or `every` one against every other (left × right)."""

    left: _Features
    right: _Features
    every: bool
    same: Flags | np.bool_
    """the texts are equal; decides for texts without a word, and is not looked at where every is compared"""
    same_label: Flags

    def words(self) -> tuple[Values, Values]:
        """How many different words both texts have, and how many either."""
        both = self._products(self.left.words, self.right.words)
        mine, theirs = _dense(self.left.words.sum(axis=1)), _dense(self.right.words.sum(axis=1))
        return both, (mine[:, None] + theirs[None, :] if self.every else mine + theirs) - both

    def tfidf(self) -> Values:
        return self._products(self.left.tfidf, self.right.tfidf)

    def sbert(self) -> Values:
        left, right = self.left.sbert, self.right.sbert
        products = left @ right.T if self.every else np.einsum("ij,ij->i", left, right)
        return products.astype(np.float64)

    def _products(self, left: Any, right: Any) -> Values:
        if self.every:
            table: Values = (left @ right.T).toarray().astype(np.float64)
            return table
        return _dense(left.multiply(right).sum(axis=1))


class Similarity:
    """Compares texts of one corpus: TF-IDF is fitted on it; `embed` gives unit-length sentence embeddings."""

    def __init__(self, corpus: Sequence[str], embed: Callable[[Sequence[str]], Floats]):
        self._tfidf = TfidfVectorizer(token_pattern=WORD, dtype=np.float32)
        try:
            self._tfidf.fit(_plain(corpus))
        except ValueError:  # not one word in the whole corpus, so no word can be given away
            self._tfidf.fit(["nothing"])
        self._embed = embed

    def pairs(self, truth: Truth, examples: Ints, answer: Sequence[str], rows: Ints) -> Comparison:
        """Each example beside its answer; `rows` are the answers' corpus rows, NOTHING for one outside the corpus."""
        left = [truth.private.texts[i] for i in examples]
        same = np.fromiter((x == y for x, y in zip(left, answer, strict=True)), dtype=bool, count=len(left))
        # A score counts as the same when it rounds to the same whole number, the scale's own steps.
        mine, theirs = np.rint(truth.private.labels[examples]), np.rint(truth.labels[np.maximum(rows, 0)])
        same_label = np.asarray((rows != NOTHING) & (mine == theirs))
        return Comparison(*self._features(left, answer), False, same, same_label)

    def table(self, truth: Truth, examples: Ints, rows: Ints) -> Comparison:
        """Each example beside each of these corpus rows."""
        left, right = [truth.private.texts[i] for i in examples], [truth.corpus.texts[i] for i in rows]
        same_label = np.rint(truth.private.labels[examples])[:, None] == np.rint(truth.labels[rows])[None, :]
        return Comparison(*self._features(left, right), True, np.False_, same_label)

    def _features(self, left: Sequence[str], right: Sequence[str]) -> tuple[_Features, _Features]:
        counter = CountVectorizer(token_pattern=WORD, binary=True)
        try:
            counter.fit(_plain([*left, *right]))
        except ValueError:
            counter.fit(["nothing"])
        embedded = self._embed([*left, *right])
        plain = _plain(left), _plain(right)
        vectors = embedded[: len(left)], embedded[len(left) :]
        first, second = (
            _Features(counter.transform(texts), self._tfidf.transform(texts), rows)
            for texts, rows in zip(plain, vectors, strict=True)
        )
        return first, second


def _plain(texts: Sequence[str]) -> list[str]:
    return [text.replace(PAIR, " ") for text in texts]


def _dense(column: Any) -> Values:
    return np.asarray(column, dtype=np.float64).ravel()
