"""Independent noise on every encoding. It claims no ε: nothing bounds the vectors that the noise has to hide."""

from dataclasses import dataclass

import numpy as np

from bench import Key, Release, defense
from bench.toolkit.mixing import apply, draw_members, mix


@defense("gaussian-noise", paper="an example")
@dataclass(frozen=True)
class GaussianNoise:
    """Each vector plus Gaussian noise, drawn anew for every encoding."""

    scale: float = 0.1
    """standard deviation of the noise on each coordinate"""

    def __post_init__(self):
        if not self.scale >= 0:
            raise ValueError("scale must be 0 or more")

    def release(self, vectors, labels, public, rng, epochs=1):
        # One example in each "mix", in an order that says nothing; the key then explains the release bit for bit.
        members = draw_members(len(vectors), 1, epochs, rng, batch="all", distinct=False)
        weights = np.ones(members.shape, dtype=np.float32)
        noise = self.scale * rng.standard_normal((len(members), vectors.shape[1]), dtype=np.float32)
        key = Key(members[:, 0], members, weights, noise=noise)
        return Release(apply(vectors, key), mix(labels, members, weights)), key
