"""How much one text gives away of another: words in common, TF-IDF, and meaning by SBERT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from bench.arrays import PAIR, Floats

WORD = r"(?u)\b\w+\b"
NAMES = ("jaccard", "tfidf", "sbert")

Values = npt.NDArray[np.float64]


class Similarity:
    """The three text metrics; TF-IDF is fitted on the corpus, `embed` gives unit-length SBERT vectors."""

    def __init__(self, corpus: Sequence[str], embed: Callable[[Sequence[str]], Floats]):
        self._tfidf = TfidfVectorizer(token_pattern=WORD, dtype=np.float32)
        try:
            self._tfidf.fit(_plain(corpus))
        except ValueError:  # not one word in the whole corpus, so no word can be given away
            self._tfidf.fit(["nothing"])
        self._embed = embed

    def pairs(self, left: Sequence[str], right: Sequence[str]) -> dict[str, Values]:
        """Row by row: left[i] against right[i]."""
        a, b = self._features(left, right)
        both = _dense(a["words"].multiply(b["words"]).sum(axis=1))
        either = _dense(a["words"].sum(axis=1)) + _dense(b["words"].sum(axis=1)) - both
        same = np.fromiter((x == y for x, y in zip(left, right, strict=True)), dtype=bool, count=len(left))
        return {
            "jaccard": np.where(either > 0, both / np.maximum(either, 1), same),
            "tfidf": _dense(a["tfidf"].multiply(b["tfidf"]).sum(axis=1)),
            "sbert": np.einsum("ij,ij->i", a["sbert"], b["sbert"]).astype(np.float64),
        }

    def table(self, left: Sequence[str], right: Sequence[str]) -> dict[str, Values]:
        """Every left text against every right one: left × right."""
        a, b = self._features(left, right)
        both = (a["words"] @ b["words"].T).toarray().astype(np.float64)
        either = _dense(a["words"].sum(axis=1))[:, None] + _dense(b["words"].sum(axis=1))[None, :] - both
        return {
            "jaccard": both / np.maximum(either, 1),
            "tfidf": (a["tfidf"] @ b["tfidf"].T).toarray().astype(np.float64),
            "sbert": (a["sbert"] @ b["sbert"].T).astype(np.float64),
        }

    def _features(self, left: Sequence[str], right: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        counter = CountVectorizer(token_pattern=WORD, binary=True)
        try:
            counter.fit(_plain([*left, *right]))
        except ValueError:
            counter.fit(["nothing"])
        embedded = self._embed([*left, *right])
        sides = []
        for texts, vectors in ((left, embedded[: len(left)]), (right, embedded[len(left) :])):
            plain = _plain(texts)
            sides.append({"words": counter.transform(plain), "tfidf": self._tfidf.transform(plain), "sbert": vectors})
        return sides[0], sides[1]


def _plain(texts: Sequence[str]) -> list[str]:
    return [text.replace(PAIR, " ") for text in texts]


def _dense(column: Any) -> Values:
    return np.asarray(column, dtype=np.float64).ravel()
