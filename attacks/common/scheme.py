"""What an attacker learns of a scheme by running it on its own vectors: the scheme is public, only the key is not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from bench import Corpus, Floats, Key, View
from bench.isolation.view import NotGranted


@dataclass(frozen=True)
class Scheme:
    """Facts that attacks depend on, whatever the scheme is called."""

    k: int
    """sentences in each mix, public ones included; 0 if unknown"""
    private: int
    """private sentences in each mix, at most; 0 if unknown"""
    public: bool
    """public sentences are mixed in as well"""
    masks: float
    """size of the pool that masks come from: 0 without masks, infinite where every encoding has one of its own"""
    concentration: float
    """mean sum of squared weights: how much of the sentences' covariance a mix keeps"""
    spread: float
    """the same of the private sentences alone, the weights of one that fills several slots added up"""
    noise: float
    """variance of the noise on each coordinate"""
    clip: float
    """vectors are shortened to at most this many times their median norm; 0 if they are not"""
    norm: int
    """1 or 2: the norm that is clipped"""

    @property
    def masked(self) -> bool:
        return self.masks > 0

    @property
    def pooled(self) -> bool:
        """Several encodings may share a mask."""
        return 0 < self.masks < math.inf

    @property
    def signed(self) -> bool:
        """All encodings carry the same signs."""
        return self.masks <= 1

    @classmethod
    def of_key(cls, key: Key, options: Mapping[str, Any]) -> Scheme:
        """Read off the key of one's own release; clipping is stated in the options only."""
        members, weights = np.asarray(key.members), np.asarray(key.weights)
        private = members >= 0
        rows = np.arange(len(members))[:, None].repeat(members.shape[1], axis=1)
        # Slots may hold one example twice; its weights then add up.
        share = csr_matrix((weights[private], (rows[private], members[private])))
        return cls(
            k=int(members.shape[1]),
            private=int(private.sum(axis=1).max()),
            public=bool((~private).any()),
            masks=0 if key.mask is None or key.pool is None else math.inf if key.one_time else len(key.pool),
            concentration=float((weights.astype(np.float64) ** 2).sum(1).mean()),
            spread=float(share.multiply(share).sum() / len(members)),
            noise=0.0 if key.noise is None else float(np.square(key.noise, dtype=np.float64).mean()),
            clip=_number(options.get("clip")),
            norm=_norm(options),
        )

    @classmethod
    def of_options(cls, options: Mapping[str, Any]) -> Scheme:
        """What the options alone say, where the scheme cannot be run on the vectors at hand."""
        k = int(_number(options.get("k")))
        share = 1.6 / (k + 1) if k else 0.4  # about what half-normal weights give
        masks = math.inf if options.get("m", 0) != 0 else 0
        return cls(k, k, False, masks, share, share, 0.0, _number(options.get("clip")), _norm(options))


def learn(view: View, vectors: Floats, labels: Floats, rng: np.random.Generator) -> Scheme:
    """Release vectors of one's own under a key of one's own, and look at that key."""
    _, key = view.defense.release(vectors, labels, rng)
    return Scheme.of_key(key, view.defense.options)


def clipped(vectors: Floats, scheme: Scheme) -> Floats:
    """The vectors as the scheme mixes them, the median norm being that of these vectors."""
    if not scheme.clip:
        return vectors
    norm = np.linalg.norm(vectors, ord=scheme.norm, axis=1, keepdims=True)
    bound = scheme.clip * float(np.median(norm))
    shorter: Floats = (vectors * np.minimum(1, bound / np.maximum(norm, 1e-30))).astype(np.float32)
    return shorter


def public_corpus(view: View) -> Corpus | None:
    """The public corpus, where the view holds one: with the scheme that mixes it in, or granted as such."""
    part: Corpus | None = getattr(view.defense, "public", None)
    if part is not None:
        return part
    try:
        return view.public
    except (NotGranted, FileNotFoundError):
        return None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _norm(options: Mapping[str, Any]) -> int:
    return 1 if options.get("norm") == "l1" else 2
