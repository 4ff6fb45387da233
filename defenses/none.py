"""No defense: what leaves the client is the encoder's vector. The upper end of every leakage scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Corpus, Key, Release, defense
from bench.toolkit.mixing import apply, draw_members, mix


@defense("none", paper="Huang et al. 2020 (TextHide), baseline (m = 0, k = 1)")
@dataclass(frozen=True)
class NoDefense:
    """The vectors as they are, in random order."""

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        members = draw_members(len(vectors), 1, epochs, rng, batch="all", distinct=False)
        key = Key(members[:, 0], members, np.ones(members.shape, dtype=np.float32))
        return Release(apply(vectors, key), mix(labels, members, key.weights)), key
