"""Release once: every example leaves the client a single time, as a noisy point and a noisy label, and never again.

Vectors are projected on r directions of a public corpus, clipped to a bound that is taken from the same corpus, and get
Gaussian noise (the analytic mechanism, at replace-one sensitivity 2C) that is drawn once and stored; labels go through
randomised response. All that follows is post-processing: epochs, sharing and training cost nothing more. The guarantee
is local: it holds against the server, too. Nothing that shapes the release (directions, centre, bound) is taken from
private data. `learn` is a head that knows the noise (docs/release-once.md).
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bench import Corpus, Floats, Key, Release, UsageError, defense
from bench.toolkit.mixing import draw_members
from bench.toolkit.privacy import gaussian_sigma

log = logging.getLogger(__name__)

Wide = npt.NDArray[np.float64]

# The share of ε that labels get, and the directions, where neither is given: the best on average over ε = 2, 4 and 8 on
# public data alone (benchmarks/release_once.py has the experiment).
LABEL_SHARE = 0.4
DIRECTIONS = 16
# Public sentences with words of a class, from which a direction is learnt.
FEWEST = 20


@defense("release-once", paper="this project")
@dataclass(frozen=True)
class ReleaseOnce:
    """Project on public directions, clip, add noise once per example; randomised response for the label."""

    epsilon: float = 4.0
    """the whole privacy budget of an example, label included"""
    delta: float = 1e-5
    """the probability with which ε may not hold"""
    r: int | Literal["auto"] = "auto"
    """directions of the public corpus that are released"""
    clip: float = 1.0
    """bound C on a projected vector's norm, in units of the public corpus's median"""
    label: float | Literal["auto"] = "auto"
    """the part of ε that is spent on the label"""
    labels: Literal["private", "public"] = "private"
    """public: labels are declared public, and released as they are"""
    low: float | None = None
    """the least score, for a regression: known beforehand, not looked up in the data"""
    high: float | None = None
    """the largest score"""
    words: str = ""
    """words whose classes the task is thought to tell apart, as great+good/bad+awful: the difference between public
    sentences that hold the ones and the others is the first direction"""
    public: str = "auto"
    """the public corpus; auto: the data set's own"""

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or math.isinf(self.epsilon):
            raise ValueError("epsilon must be above 0 and finite")
        if not 0 < self.delta < 1:
            raise ValueError("delta must lie between 0 and 1")
        if not self.clip > 0 or math.isinf(self.clip):
            raise ValueError("clip must be above 0 and finite")
        if self.r != "auto" and self.r < 1:
            raise ValueError("r must be at least 1, or auto")
        if self.label != "auto" and not 0 < self.label < self.epsilon:
            raise ValueError("label must lie between 0 and epsilon, or be auto")
        if (self.low is None) != (self.high is None) or not (self.low or 0.0) <= (self.high or 0.0):
            raise ValueError("low and high bound the scores of a regression: give both, low below high")
        if self.words and (len(groups := self.words.split("/")) < 2 or not all(all(g.split("+")) for g in groups)):
            raise ValueError("words must be of two classes at least, as great+good/bad+awful")
        if not self.public:
            raise ValueError("public must name a data set, or be auto: directions come from nowhere else")

    @property
    def budgets(self) -> tuple[float, float]:
        """ε of the label and of the vector."""
        if self.labels == "public":
            return 0.0, self.epsilon
        label = LABEL_SHARE * self.epsilon if self.label == "auto" else self.label
        return label, self.epsilon - label

    def frame(self, public: Corpus) -> Frame:
        n, dim = np.shape(public.vectors)
        default = self.words.count("/") if self.words else min(DIRECTIONS, dim, max(1, n - 1))
        return frame_of(public, default if self.r == "auto" else self.r, self.clip, self.words)

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        if public is None:
            raise UsageError("release-once takes its directions from a public corpus: name one with public=")
        plain = np.asarray(vectors.detach().cpu() if hasattr(vectors, "detach") else vectors, dtype=np.float32)
        n = len(plain)
        frame = self.frame(public)
        if shared := sum(_content(row) in frame.content for row in plain):
            _warn_of_private(f"{100 * shared / n:.3g} %")
        for_label, for_vector = self.budgets
        sigma = gaussian_sigma(2 * frame.bound, for_vector, self.delta)
        points = frame.points(plain) + rng.standard_normal((n, len(frame.axes))) * sigma
        noisy = frame.back(points)
        answers = self.answers(np.asarray(labels, dtype=np.float32), for_label, rng)
        members = draw_members(n, 1, epochs, rng, batch="all", distinct=False)
        owner = members[:, 0]
        # What mix and scale cannot say, the projection among it, goes into the key's noise.
        noise: Floats = (noisy - plain)[owner]
        key = Key(owner, members, np.ones(members.shape, dtype=np.float32), noise=noise)
        budget = {"epsilon": self.epsilon, "delta": self.delta}
        notes = {
            "nominal": budget,
            "accounted": budget,
            "clip_bound": frame.bound,
            "noise_scale": sigma,
            "directions": len(frame.axes),
            "label_epsilon": for_label,
            "labels": "declared public" if self.labels == "public" else "randomised",
            "drawn": "once",
        }
        # Not plain + noise: its rounding would tell of the vector, however little.
        return Release(noisy[owner], answers[owner], notes), key

    def answers(self, labels: Floats, epsilon: float, rng: np.random.Generator) -> Floats:
        """Labels as they are released: k-ary randomised response; Laplace noise for bounded scores."""
        if self.labels == "public":
            return labels
        if labels.shape[1] > 1:
            classes = labels.shape[1]
            lie = rng.random(len(labels)) > keep_rate(epsilon, classes)
            other = (labels.argmax(axis=1) + rng.integers(1, classes, len(labels))) % classes
            told: Floats = np.where(lie[:, None], np.eye(classes, dtype=np.float32)[other], labels)
            return told
        if self.low is None or self.high is None:
            raise UsageError(
                "release-once: scores of a regression have no bound by themselves, so no noise can protect them: give "
                "low= and high=, or labels=public"
            )
        noise = rng.laplace(0.0, (self.high - self.low) / epsilon, labels.shape)
        bounded: Floats = (np.clip(labels, self.low, self.high) + noise).astype(np.float32)
        return bounded

    def check_training(self) -> None:
        """Whether the promise holds while the encoder learns."""
        raise ValueError(
            "every example is released once, from vectors that stay as they are, and an encoder that learns would "
            "release it again and again: take --training frozen"
        )

    def learn(
        self, encodings: Floats, labels: Floats, public: Corpus | None, notes: dict[str, Any]
    ) -> Callable[[Floats], Floats]:
        """A head for what was released, which answers clean vectors with scores: classes or one column."""
        assert public is not None
        frame = self.frame(public)
        points = frame.points(encodings, clip=False)
        classes = labels.shape[1]
        if classes == 1:
            return _regression(frame, points, labels[:, 0].astype(np.float64), notes["noise_scale"])
        confusion = np.eye(classes)
        if self.labels == "private":
            keep = keep_rate(notes["label_epsilon"], classes)
            confusion = np.full((classes, classes), (1 - keep) / (classes - 1)) + np.eye(classes) * (
                keep - (1 - keep) / (classes - 1)
            )
        return _discriminant(frame, points, labels.astype(np.float64), confusion, notes["noise_scale"])


def keep_rate(epsilon: float, classes: int) -> float:
    """How often k-ary randomised response tells the truth."""
    return 1 / (1 + (classes - 1) * math.exp(-epsilon))


@dataclass(frozen=True)
class Frame:
    """The space that is released: r public directions around the public mean, and the clip bound."""

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
        return _clipped(found, self.bound) if clip else found

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
    covariance = np.atleast_2d(np.cov(_clipped(points, bound), rowvar=False))
    return Frame(centre, axes, bound, covariance, frozenset(map(_content, np.asarray(public.vectors))))


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


def _clipped(points: Wide, bound: float) -> Wide:
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    found: Wide = points * np.minimum(1.0, bound / np.maximum(norms, 1e-300))
    return found


def _content(row: Floats) -> bytes:
    return np.ascontiguousarray(row, dtype=np.float32).tobytes()


@lru_cache(maxsize=64)
def _warn_of_private(share: str) -> None:
    """Once: a public corpus that holds private sentences would shape the release by them, outside of any budget."""
    log.warning(
        "release-once: %s of the private examples are in the public corpus, whose directions no ε covers: choose "
        "another with public=",
        share,
    )


def _discriminant(
    frame: Frame, points: Wide, labels: Wide, confusion: Wide, sigma: float
) -> Callable[[Floats], Floats]:
    """Linear discriminant analysis of points with known noise and labels with a known confusion matrix."""
    n = len(points)
    undo = np.linalg.inv(confusion)
    share = np.maximum(labels.mean(axis=0) @ undo, 1e-3)
    share /= share.sum()
    centre = points.mean(axis=0)
    # E[1{told c} z] = Σ over true classes of their share, mean and chance to be told as c.
    means = (undo.T @ (labels.T @ (points - centre) / n)) / share[:, None]
    total = np.cov(points, rowvar=False).reshape(len(centre), -1) - sigma**2 * np.eye(len(centre))
    # Told labels of one class differ from the mean by noise of this variance, coordinate by coordinate.
    spread = float(np.mean(np.diag(total))) + sigma**2
    noise = spread * (undo**2 @ labels.mean(axis=0)) / n / share**2
    within = _blended(total - (means.T * share) @ means, frame.covariance, sigma**2 + spread, n)
    weights = np.stack([_shrunk(within, mean, float(level)) for mean, level in zip(means, noise, strict=True)])
    # Shares of the classes are left out: against means that are shrunk because little is known of them, they would
    # decide alone, and every answer would be the largest class.
    offset = -0.5 * np.einsum("cr,rs,cs->c", weights, within, weights)

    def scores(vectors: Floats) -> Floats:
        found: Floats = ((frame.points(vectors) - centre) @ weights.T + offset).astype(np.float32)
        return found

    return scores


def _regression(frame: Frame, points: Wide, scores: Wide, sigma: float) -> Callable[[Floats], Floats]:
    """Ridge regression on points with known noise; noise in the scores is independent, and averages out."""
    n, centre, level = len(points), points.mean(axis=0), float(scores.mean())
    along = (points - centre).T @ (scores - level) / n
    total = np.cov(points, rowvar=False).reshape(len(centre), -1) - sigma**2 * np.eye(len(centre))
    spread = float(np.mean(np.diag(total))) + sigma**2
    covariance = _blended(total, frame.covariance, spread, n)
    weights = _shrunk(covariance, along, spread * float(scores.var()) / n)

    def answer(vectors: Floats) -> Floats:
        found: Floats = ((frame.points(vectors) - centre) @ weights + level).astype(np.float32)[:, None]
        return found

    return answer


def _blended(private: Wide, public: Wide, spread: float, n: int) -> Wide:
    """The covariance: what is left of the private one when the noise is taken off, as far as it can be trusted, and
    that of the public corpus for the rest."""
    error = spread**2 / n  # variance of an entry of the private estimate
    gap = float(np.mean((private - public) ** 2))
    trust = max(0.0, 1 - error / max(gap, 1e-300))  # of the gap, what noise does not explain
    found: Wide = trust * private + (1 - trust) * public
    values, axes = np.linalg.eigh((found + found.T) / 2)
    floor = 0.1 * float(np.linalg.eigvalsh(public).min())
    blended: Wide = (axes * np.maximum(values, floor)) @ axes.T
    return blended


def _shrunk(covariance: Wide, mean: Wide, noise: float) -> Wide:
    """covariance⁻¹ · mean, for a mean that is known up to `noise` (variance of each coordinate): the posterior mean
    under mean ~ N(0, τ² · covariance), with the likeliest τ²."""
    values, axes = np.linalg.eigh(covariance)
    along = axes.T @ mean
    grid = np.geomspace(1e-4, 1e2, 200)
    variance = grid[:, None] * values + noise
    likelihood = -0.5 * (np.log(variance) + along**2 / variance).sum(axis=1)
    strength = grid[int(np.argmax(likelihood))]
    found: Wide = axes @ (along * strength / (strength * values + noise))
    return found
