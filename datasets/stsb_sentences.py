"""The single sentences of STS-B's pairs: private sentences for attacks that write text, on which none was tuned."""

from __future__ import annotations

from dataclasses import dataclass

from bench import DataError, Examples, dataset
from bench.arrays import PAIR
from bench.datasets.glue import STSB


@dataset("stsb-sentences", paper="Cer et al. 2017", public="prose")
@dataclass(frozen=True)
class STSBSentences:
    """Single sentences of captions, news and forums: the first of each of STS-B's pairs, with the pair's score."""

    def load(self, split: str) -> Examples:
        if split not in ("train", "dev"):
            raise DataError(f"stsb-sentences has no split {split!r}: use train or dev, and prose as a public corpus")
        pairs = STSB().load(split)
        scores = {}  # type: ignore[var-annotated]
        for text, score in zip(pairs.texts, pairs.labels, strict=True):
            scores.setdefault(text.split(PAIR)[0], float(score))
        return Examples(list(scores), list(scores.values()))
