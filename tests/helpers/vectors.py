"""The scorer's vectors of the sentences that runs on the demo data draw from, in the cache."""

from __future__ import annotations

from bench.datasets.demo import Demo
from bench.encoders.batching import encode_cached
from bench.encoders.sentence_bert import SentenceBert


def encode_demo() -> None:
    """Loads the transformer only if some are missing."""
    encode_cached(SentenceBert(), list(Demo().load("train").texts))
