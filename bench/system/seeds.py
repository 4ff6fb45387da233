"""Random generators keyed by what they may depend on, so that unrelated parts of a run never share a stream.

`generator(seed, "private", fingerprint)` gives the same stream for every defense and attack, which makes their
results comparable example by example; adding the defense's name to the words separates its draws from all others.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def entropy(seed: int, *words: Any) -> int:
    text = json.dumps([seed, *words], sort_keys=True, default=str)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")


def for_attack(seed: int, name: str, options: dict[str, Any]) -> int:
    """The attack's own randomness, which never depends on the key's."""
    return entropy(seed, "attack", name, options)


def for_score(seed: int, dataset: str) -> np.random.Generator:
    return generator(seed, "score", dataset)


def generator(seed: int, *words: Any) -> np.random.Generator:
    return np.random.default_rng(entropy(seed, *words))
