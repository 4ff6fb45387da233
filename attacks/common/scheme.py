"""What the attacker knows of the scheme, found by running it: the scheme is public, only the key is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Corpus, Floats, View
from bench.errors import BenchError
from bench.isolation.view import NotGranted

# As many sentences as there are encodings, because a scheme may fit its noise to them, within these bounds.
FEWEST, MOST = 64, 1024


@dataclass(frozen=True)
class Scheme:
    """Facts that the attack depends on, whatever the scheme is called."""

    k: int
    """sentences in each mix, public ones included; 0 if unknown"""
    masked: bool
    masks: int
    """size of the pool that masks come from; 0 where no two encodings share one"""
    concentration: float
    """mean sum of squared weights: how much of the sentences' covariance a mix keeps"""
    noise: float
    """variance of the noise on each coordinate"""
    clip: float
    """vectors are shortened to at most this many times their median norm; 0 if they are not"""
    norm: int
    """1 or 2: the norm that is meant"""
    public: bool
    """part of each mix is public sentences"""


def learn(view: View, count: int, rng: np.random.Generator) -> Scheme:
    """Encode sentences of the corpus with a key of one's own and look at that key."""
    options = view.defense.options
    k = _number(options.get("k"))
    clip, norm = _number(options.get("clip")), 1 if options.get("norm") == "l1" else 2
    vectors = np.asarray(view.corpus.vectors)
    rows = rng.permutation(len(vectors))[: min(max(count, FEWEST), MOST)]
    try:
        _, key = view.defense.release(vectors[rows], np.zeros((len(rows), 1), np.float32), rng)
    except BenchError:
        # Such as a corpus with fewer sentences than a mix holds: fall back on what the options say.
        masked = options.get("m", 0) != 0
        return Scheme(int(k), masked, 0, 1.6 / (k + 1) if k else 0.4, 0.0, clip, norm, False)
    weights = np.asarray(key.weights, dtype=np.float64)
    return Scheme(
        k=int(key.members.shape[1]),
        masked=key.mask is not None,
        masks=0 if key.pool is None or key.one_time else len(key.pool),
        concentration=float((weights**2).sum(1).mean()),
        noise=0.0 if key.noise is None else float(np.square(key.noise, dtype=np.float64).mean()),
        clip=clip,
        norm=norm,
        public=key.public is not None,
    )


def clipped(vectors: Floats, scheme: Scheme) -> Floats:
    """The vectors as the scheme mixes them, the median norm being that of these vectors."""
    if not scheme.clip:
        return vectors
    norm = np.linalg.norm(vectors, ord=scheme.norm, axis=1, keepdims=True)
    bound = scheme.clip * float(np.median(norm))
    shorter: Floats = (vectors * np.minimum(1, bound / np.maximum(norm, 1e-30))).astype(np.float32)
    return shorter


def public_part(view: View) -> Corpus | None:
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
