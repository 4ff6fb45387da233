"""Each encoding alone, by a corpus that holds the pictures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench import Floats, Ints
from bench.attacks.unmix_pictures.differences import Shape, difference_magnitudes
from bench.attacks.unmix_pictures.pursuit import Dictionary, Mixes, decode

# Encodings between two words of progress.
STEP = 256


def name_members(
    encodings: Floats,
    candidates: Floats,
    shape: Shape,
    k: int,
    *,
    starts: int,
    cycles: int,
    stage: Callable[[str], None] = lambda text: None,
) -> Mixes:
    """The k candidates that explain the magnitudes of each encoding, heaviest first."""
    dictionary = Dictionary.of(candidates, shape)
    magnitudes = np.abs(encodings)
    centre = difference_magnitudes(magnitudes, shape).mean(axis=0)
    parts = []
    for at in range(0, len(magnitudes), STEP):
        stage(f"decoding {at:,} of {len(magnitudes):,} encodings")
        parts.append(decode(magnitudes[at : at + STEP], dictionary, k, centre, starts=starts, cycles=cycles))
    found = Mixes.joined(parts)
    order = np.argsort(-found.weights, axis=1, kind="stable")
    support: Ints = np.take_along_axis(found.support, order, axis=1)
    weights: Floats = np.take_along_axis(found.weights, order, axis=1)
    return Mixes(support, weights, found.residual)


def private_pictures(mixes: Mixes, candidates: Floats, private: int, most: int) -> Floats:
    """The heaviest `most` members of each mix that are among the first `private` candidates; black if there are fewer.

    n × most × d
    """
    mine = mixes.support < private
    rank = np.where(mine, np.cumsum(mine, axis=1) - 1, most)
    found: Floats = np.zeros((len(mixes.support), most, candidates.shape[1]), dtype=np.float32)
    for j in range(mixes.support.shape[1]):
        rows = np.flatnonzero(rank[:, j] < most)
        found[rows, rank[rows, j]] = candidates[mixes.support[rows, j]]
    return found
