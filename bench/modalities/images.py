"""Images: encoded afresh each time; the client trains the encoder's network too, so its gradients reach the pixels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.arrays import Floats
from bench.encoders import batching
from bench.errors import DataError, UsageError
from bench.toolkit.networks import Victim, layer
from bench.types import Examples, Key

nameable = False
synthetic = {"dataset": ["synthetic-pictures"], "encoder": ["synthetic-eye"]}


def content(examples: Examples) -> bytes:
    images = _of(examples)
    return repr(images.shape).encode() + images.tobytes()


def joined(first: Examples, second: Examples) -> Examples:
    texts, labels = [*first.texts, *second.texts], np.concatenate([first.labels, second.labels])
    return Examples(texts, labels, first.classes, np.concatenate([_of(first), _of(second)]))


def encode(encoder: Any, name: str, examples: Examples, device: str, progress: Callable[[str], None]) -> Floats:
    progress(f"encoding {len(examples):,} images")
    vectors = encoder.encode(_of(examples), device=device)
    return batching.check_vectors(vectors, len(examples), f"encoder {name}")


def victim(encoder: Any, name: str, private: Examples, key: Key, dim: int, rng: np.random.Generator) -> Victim:
    if key.public is not None:
        raise UsageError("mixes with public images release no gradients: choose a defense that mixes private ones")
    if not hasattr(encoder, "weights"):
        raise DataError(
            f"encoder {name!r} has no weights(picture), so there are no gradients to release: "
            "choose one that has (bench list encoders)"
        )
    weights = {**encoder.weights(private.shape), **layer("head1", (private.targets().shape[1], dim), rng)}
    return Victim(weights, private.shape, bool(private.classes))


def inputs(private: Examples, encodings: Floats, key: Key, rows: slice) -> tuple[Any, ...]:
    """The images themselves: they pass through the network, then through mix and mask."""
    members = key.members[rows]
    n, dim = len(members), encodings.shape[1]
    share = key.weights[rows] if key.scale is None else key.weights[rows] * key.scale[members]
    noise = np.zeros((n, dim)) if key.noise is None else key.noise[rows]
    mask = np.ones((n, dim)) if key.mask is None or key.pool is None else key.pool[key.mask[rows]]
    return _of(private)[members], share, noise, mask


def similarity(corpus: tuple[str, ...], device: str) -> None:
    return None


def scorer_fingerprint() -> None:
    return None


def _of(examples: Examples) -> Floats:
    assert examples.images is not None
    return examples.images
