"""The space that is released: public directions around the public mean, and the clip bound."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench import Corpus, Floats, UsageError

Wide = npt.NDArray[np.float64]

# Public sentences with words of a class, from which a direction is learnt.
FEWEST = 20


@dataclass(frozen=True)
class Frame:
    """r public directions, with what is known of public points in them."""

    centre: Wide
    axes: Wide
    """r × d, orthonormal"""
    bound: float
    covariance: Wide
    """of public points in it"""
    content: frozenset[bytes]
    """of the public vectors"""

    def points(self, vectors: Floats, clip: bool = True) -> Wide:
        found: Wide = (np.asarray(vectors, dtype=np.float64) - self.centre) @ self.axes.T
        return clipped(found, self.bound) if clip else found

    def back(self, points: Wide) -> Floats:
        """In the space of the encoder."""
        found: Floats = (self.centre + points @ self.axes).astype(np.float32)
        return found


# By corpus and options: an audit releases thousands of times. The corpus is held, so that its id stays its own.
_frames: dict[tuple[int, int, float, str], tuple[Corpus, Frame]] = {}


def frame_of(public: Corpus, rank: int, clip: float, words: str = "") -> Frame:
    key = (id(public), rank, clip, words)
    if key not in _frames:
        if len(_frames) >= 8:
            _frames.clear()
        _frames[key] = public, _learnt(public, rank, clip, words)
    return _frames[key][1]


def _learnt(public: Corpus, rank: int, clip: float, words: str) -> Frame:
    vectors = np.asarray(public.vectors, dtype=np.float64)
    if rank > vectors.shape[1]:
        raise UsageError(f"r={rank} is above the {vectors.shape[1]} dimensions of the vectors: lower r")
    if rank >= len(vectors):
        raise UsageError(f"r={rank} directions cannot be learnt from {len(vectors)} public sentences: lower r")
    centre = vectors.mean(axis=0)
    first = _word_directions(public.texts, vectors, words)[:rank] if words else np.zeros((0, vectors.shape[1]))
    rest = (vectors - centre) - (vectors - centre) @ first.T @ first
    _, axes = np.linalg.eigh(np.cov(rest, rowvar=False))
    axes = np.concatenate([first, axes[:, ::-1][:, : rank - len(first)].T])
    points = (vectors - centre) @ axes.T
    bound = clip * float(np.median(np.linalg.norm(points, axis=1)))
    covariance = np.atleast_2d(np.cov(clipped(points, bound), rowvar=False))
    return Frame(centre, axes, bound, covariance, frozenset(map(content_of, np.asarray(public.vectors))))


def _word_directions(texts: list[str], vectors: Wide, words: str) -> Wide:
    """Orthonormal: how the means of public sentences with words of one class alone differ from those of the first."""
    groups = [frozenset(group.lower().split("+")) for group in words.split("/")]
    found = np.array([[bool(group & set(re.findall(r"\w+", text.lower()))) for group in groups] for text in texts])
    alone = found & (found.sum(axis=1, keepdims=True) == 1)
    for group, count in zip(words.split("/"), alone.sum(axis=0), strict=True):
        if count < FEWEST:
            raise UsageError(f"words: {count} public sentences hold {group!r} and no other class: at least {FEWEST}")
    means = np.stack([vectors[rows].mean(axis=0) for rows in alone.T])
    directions: Wide = np.linalg.qr((means[1:] - means[0]).T)[0].T
    return directions


def clipped(points: Wide, bound: float) -> Wide:
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    found: Wide = points * np.minimum(1.0, bound / np.maximum(norms, 1e-300))
    return found


def content_of(row: Floats) -> bytes:
    return np.ascontiguousarray(row, dtype=np.float32).tobytes()
