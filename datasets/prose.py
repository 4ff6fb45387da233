"""Short sentences of several kinds without labels: a public corpus for attackers who know no private sentence."""

from __future__ import annotations

from dataclasses import dataclass

from bench import DataError, Examples, dataset
from bench.datasets.glue import MNLI
from bench.datasets.imdb import IMDB


@dataset("prose", paper="Maas et al. 2011; Williams et al. 2018")
@dataclass(frozen=True)
class Prose:
    """Short sentences of film reviews (imdb) and of MNLI's train set, for use as a public corpus (public=prose)."""

    reviews: int = 30_000
    """sentences of film reviews, at most"""
    words: int = 14
    """of a sentence, at most: short ones say most about short private ones, and are encoded fast"""

    def __post_init__(self) -> None:
        if self.reviews < 1 or self.words < 1:
            raise ValueError("reviews and words must be at least 1")

    def load(self, split: str) -> Examples:
        if split != "public":
            raise DataError("prose has no labels: use it as a public corpus, with public=prose")
        reviews = self._short(IMDB(limit=1_000_000).load("public").texts)[: self.reviews]
        texts = list(dict.fromkeys([*reviews, *self._short(MNLI().load("public").texts)]))
        return Examples(texts, [0.0] * len(texts))

    def _short(self, texts: list[str]) -> list[str]:
        return [text for text in texts if len(text.split()) <= self.words]
