"""What attacks on pictures hidden as they are (`--encoder pixels`) share: the scheme, and the way back to pixels."""

from __future__ import annotations

import numpy as np

from bench import Floats, UsageError, View
from bench.attacks.common.scheme import Scheme, learn

# Vectors of one's own that the scheme is run on, to see what it does.
TRIED = 64


def scheme_of_pixels(view: View, width: int, rng: np.random.Generator) -> Scheme:
    """How many pictures are mixed and how, seen by running the scheme on noise."""
    if not hasattr(view.encoder, "decode"):
        raise UsageError("the attack works on pictures hidden as they are: take --encoder pixels")
    noise = rng.standard_normal((TRIED, width)).astype(np.float32)
    return learn(view, noise, np.zeros((TRIED, 1), dtype=np.float32), rng)


def decoded(view: View, vectors: Floats) -> Floats:
    """Vectors as pictures in [0, 1]."""
    images: Floats = np.clip(np.nan_to_num(view.encoder.decode(vectors)), 0, 1)
    return images


def last_sign(pictures: Floats, public: Floats) -> np.float32:
    """1, or -1 where pictures are negatives. The mean of photographs is not flat (sky above, something in the middle),
    and that of others has the same shape. How bright they are is left out: in that they differ."""
    mine, theirs = pictures.mean(axis=0), public.mean(axis=0)
    return np.float32(-1 if float((mine - mine.mean()) @ (theirs - theirs.mean())) < 0 else 1)
