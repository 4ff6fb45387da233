"""Text: sentences and sentence pairs, encoded once and cached; the client trains a head on their vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats
from bench.encoders import batching
from bench.errors import UsageError
from bench.toolkit.networks import Victim, head_weights
from bench.types import Examples, Key

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity

nameable = True
synthetic = {"encoder": ["synthetic-words"]}
# Hidden layers of the head, as it is trained in bench.experiment.utility.
HEAD_LAYERS = 3


def content(examples: Examples) -> bytes:
    return b""


def joined(first: Examples, second: Examples) -> Examples:
    texts = [*first.texts, *second.texts]
    return Examples(texts, np.concatenate([first.labels, second.labels]), first.classes)


def encode(encoder: Any, name: str, examples: Examples, device: str, progress: Callable[[str], None]) -> Floats:
    return encode_texts(encoder, name, examples.texts, device, progress)


def encode_texts(encoder: Any, name: str, texts: Sequence[str], device: str, progress: Callable[[str], None]) -> Floats:
    """Also those of a public corpus, which is text whatever the private examples are."""

    def report(done: int, total: int) -> None:
        progress(f"encoding {done:,} of {total:,} texts")

    if not hasattr(encoder, "fingerprint"):  # a plugin that does not say what it depends on cannot be cached
        return batching.check_vectors(encoder.encode(list(texts)), len(texts), f"encoder {name}")
    return batching.encode_cached(encoder, texts, device=device, progress=report)


def victim(encoder: Any, name: str, private: Examples, key: Key, dim: int, rng: np.random.Generator) -> Victim:
    weights = head_weights(dim, private.targets().shape[1], HEAD_LAYERS, rng)
    if trained := getattr(encoder, "head", None):  # a head that was trained along with the encoder
        if trained.keys() != weights.keys():
            raise UsageError("gradients are released of a head with ReLU alone: take head=relu in --training")
        weights = trained
    return Victim(weights, classes=bool(private.classes))


def inputs(private: Examples, encodings: Floats, key: Key, rows: slice) -> tuple[Any, ...]:
    """The encodings: vectors of text were mixed and masked already."""
    some = encodings[rows, None]
    n, dim = len(some), some.shape[2]
    return some, np.ones((n, 1)), np.zeros((n, dim)), np.ones((n, dim))


@lru_cache(maxsize=2)
def similarity(corpus: tuple[str, ...], device: str) -> Similarity:
    # scikit-learn: a second that runs from stored records need not spend
    from bench.encoders.sentence_bert import SentenceBert
    from bench.scoring.similarity import Similarity

    sbert = SentenceBert()
    return Similarity(corpus, lambda texts: batching.encode_cached(sbert, texts, device=device))


def scorer_fingerprint() -> str:
    from bench.encoders.sentence_bert import SentenceBert

    return SentenceBert().fingerprint
