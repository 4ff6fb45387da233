"""Which words a sentence has, read off its vector in closed form: a linear discriminant for every word.

The same directions, applied to what a sentence's vector lacks to the vector that is looked for, say which word to add
and which to take away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csr_matrix

from bench import Floats, Ints
from bench.attacks.invert.words import SPECIAL, Vocabulary

SHRINK = 3.0
"""sentences of no particular content that a word's own are averaged with: rare words have few"""
RIDGE = 0.05
"""share of the mean variance that is added to each"""


RARE = 3
"""sentences of the public corpus that a word has to be in to be known by them alone"""


def spread_of(vectors: Floats) -> Floats:
    """Of each coordinate; 1 of those that do not vary."""
    spread = np.asarray(vectors, dtype=np.float32).std(axis=0)
    return np.where(spread > 1e-5 * spread.max(initial=0.0), spread, 1.0).astype(np.float32)


class Bag:
    """Fitted to public sentences and their vectors; `rare` says what words do that hardly any of them has, and
    `trust` what each coordinate counts."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        texts: Sequence[str],
        vectors: Floats,
        rare: Callable[[Ints], Floats] | None = None,
        trust: Floats | None = None,
    ):
        numbers = [sorted({i for i in vocabulary.numbers(text) if i >= SPECIAL}) for text in texts]
        rows = np.repeat(np.arange(len(texts)), [len(some) for some in numbers])
        columns = np.array([i for some in numbers for i in some], dtype=np.int64)
        table = csr_matrix((np.ones(len(rows), dtype=np.float32), (columns, rows)), (len(vocabulary), len(texts)))
        vectors = np.asarray(vectors, dtype=np.float32)
        self.mean = vectors.mean(axis=0)
        centred = vectors - self.mean
        self.spread = spread_of(vectors) if trust is None else spread_of(vectors) / trust
        centred /= self.spread
        count = np.asarray(table.sum(axis=1)).ravel()
        means = (table @ centred) / (count + SHRINK)[:, None]
        few = np.flatnonzero(count < RARE)
        few = few[few >= SPECIAL]
        if rare is not None and len(few):
            # Shrunk like a word of one sentence: how strongly a word is read off a vector is a matter of direction.
            means[few] = rare(few) / self.spread / (1 + SHRINK)
        covariance = centred.T @ centred / len(centred)
        covariance[np.diag_indices_from(covariance)] += RIDGE
        self.directions = np.linalg.solve(covariance, means.T).T.astype(np.float32)
        self.strength = np.sqrt(np.maximum(np.einsum("ij,ij->i", self.directions, means), 1e-6)).astype(np.float32)
        self.prior = np.log((count + 0.5) / (len(texts) + 1)).astype(np.float32)
        self.prior[:SPECIAL] = -np.inf

    def standard(self, vectors: Floats) -> Floats:
        found: Floats = (np.asarray(vectors, dtype=np.float32) - self.mean) / self.spread
        return found

    def presence(self, standard: Floats) -> Floats:
        """Log-odds, up to a constant, that each word is in the sentence of each vector: n × words."""
        found: Floats = standard @ self.directions.T - self.strength**2 / 2 + self.prior
        return found

    def lacking(self, standard: Floats) -> Floats:
        """How much each word would fill of a difference of two vectors, in units of what chance would: n × words."""
        found: Floats = standard @ self.directions.T / self.strength
        return found
