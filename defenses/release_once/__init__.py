"""Release once: every example leaves the client a single time, as a noisy point and a noisy label, and never again.

Vectors are projected on r directions of a public corpus, clipped to a bound that is taken from the same corpus, and get
Gaussian noise (the analytic mechanism, at replace-one sensitivity 2C) that is drawn once and stored; labels go through
randomised response, or into the point itself (`labels=joint`). All that follows is post-processing: epochs, sharing and
training cost nothing more. The guarantee is local: it holds against the server, too. Nothing that shapes the release
(directions, centre, bound) is taken from private data. `learn` is a head that knows the noise (docs/release-once.md).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from bench import Corpus, Floats, Key, Release, UsageError, defense
from bench.defenses.release_once import joint
from bench.defenses.release_once.frame import Frame, Wide, content_of, frame_of
from bench.defenses.release_once.heads import discriminant, regression
from bench.defenses.release_once.shuffling import local_budget
from bench.toolkit.mixing import draw_members
from bench.toolkit.privacy import gaussian_sigma

log = logging.getLogger(__name__)

# The share of ε that labels get, and the directions, where neither is given: the best on average over ε = 2, 4 and 8 on
# public data alone (benchmarks/release_once.py has the experiment).
LABEL_SHARE = 0.4
DIRECTIONS = 16
LABELS = {"public": "declared public", "private": "randomised"}
# With labels=joint the noise is less, and more directions pay; below this ε they no longer do.
DIRECTIONS_JOINT, SMALL = 32, 2.0


@defense("release-once", paper="this project")
@dataclass(frozen=True)
class ReleaseOnce:
    """Project on public directions, clip, add noise once per example; the label is randomised or part of the point."""

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
    labels: Literal["private", "public", "joint"] = "private"
    """private: randomised, with a part of ε; joint: point and label are released as their product, which spends all of
    ε once; public: declared public, and released as they are"""
    low: float | None = None
    """the least score, for a regression: known beforehand, not looked up in the data"""
    high: float | None = None
    """the largest score"""
    words: str = ""
    """words whose classes the task is thought to tell apart, as great+good/bad+awful: the difference between public
    sentences that hold the ones and the others is the first direction"""
    public: str = "auto"
    """the public corpus; auto: the data set's own"""
    crowd: int = 1
    """with labels=joint: so many examples at least are summed by secure aggregation before the server sees anything,
    and ε holds for the sum; 1: every example by itself, and nobody is trusted"""
    honest: float = 1.0
    """the share of a crowd that is counted on to add its noise"""
    shuffled: bool = False
    """somebody shuffles the examples before the server sees them, and epsilon is the one after that; each may then
    spend more, the more examples there are"""
    # These came later: at their defaults they do not count in the ids of records.
    later: ClassVar = ("crowd", "honest", "shuffled")

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
        if self.crowd < 1:
            raise ValueError("crowd must be at least 1")
        if self.crowd > 1 and self.labels != "joint":
            raise ValueError("crowd needs labels=joint: sums of points say nothing of labels beside them")
        if self.crowd > 1 and self.shuffled:
            raise ValueError("crowd and shuffled are two ways to hide among others: choose one")
        if not 0 < self.honest <= 1:
            raise ValueError("honest must be above 0 and at most 1")
        if self.honest < 1 and self.crowd == 1:
            raise ValueError("honest is the share of a crowd: give crowd as well")
        if not self.public:
            raise ValueError("public must name a data set, or be auto: directions come from nowhere else")

    @property
    def k(self) -> int:
        """Examples in what is released."""
        return self.crowd

    def budgets(self, epsilon: float) -> tuple[float, float]:
        """ε of the label and of the vector, of the one that an example may spend."""
        if self.labels != "private":
            return 0.0, epsilon
        label = LABEL_SHARE * epsilon if self.label == "auto" else self.label
        return label, epsilon - label

    def spent(self, examples: int) -> tuple[float, float]:
        """ε and δ of an example's own release: more than the total where it is shuffled, if that means less noise."""
        total = (self.epsilon, self.delta)
        if not self.shuffled:
            return total
        both = (total, local_budget(*total, examples))
        return min(both, key=lambda each: gaussian_sigma(1.0, self.budgets(each[0])[1], each[1]))

    def frame(self, public: Corpus) -> Frame:
        n, dim = np.shape(public.vectors)
        most = min(dim, max(1, n - 1))
        if self.labels == "joint":
            default = min(DIRECTIONS_JOINT if self.epsilon >= SMALL else DIRECTIONS, max(1, most // 2 - 1))
        else:
            default = self.words.count("/") if self.words else min(DIRECTIONS, most)
        return frame_of(public, default if self.r == "auto" else self.r, self.clip, self.words)

    def carrier(self, public: Corpus, frame: Frame, classes: int) -> Frame:
        """The directions that products lie in: those of the points, and as many further ones as they need."""
        needed, dim = joint.width(len(frame.axes), classes), np.shape(public.vectors)[1]
        if needed > dim:
            raise UsageError(
                f"release-once: labels=joint needs {needed} dimensions for r={len(frame.axes)} and {classes} classes, "
                f"and vectors have {dim}: lower r"
            )
        return frame_of(public, needed, self.clip, self.words)

    def release(
        self, vectors: Any, labels: Any, public: Corpus | None, rng: np.random.Generator, epochs: int = 1
    ) -> tuple[Release, Key]:
        if public is None:
            raise UsageError("release-once takes its directions from a public corpus: name one with public=")
        plain = np.asarray(vectors.detach().cpu() if hasattr(vectors, "detach") else vectors, dtype=np.float32)
        frame, told = self.frame(public), np.asarray(labels, dtype=np.float32)
        if shared := sum(content_of(row) in frame.content for row in plain):
            _warn_of_private(f"{100 * shared / len(plain):.3g} %")
        spent = self.spent(len(plain))
        for_label, for_vector = self.budgets(spent[0])
        sigma = gaussian_sigma(2 * frame.bound, for_vector, spent[1])
        crowds = joint.Crowds.drawn(len(plain), self.crowd, rng, self.shuffled)
        if self.labels == "joint":
            clean = joint.products(frame.points(plain), self.corner(told), frame.bound, crowds)
            # Of the mean: the sum's, which the honest add up to, over how many there are.
            each = sigma / crowds.sizes[:, None] / math.sqrt(self.honest)
            noisy = self.carrier(public, frame, told.shape[1]).back(clean + rng.standard_normal(clean.shape) * each)
            said = np.where(crowds.alone, 0, 1 / told.shape[1]).astype(np.float32)
            answers = np.repeat(said[:, None], told.shape[1], axis=1)
        else:
            order = crowds.members[:, 0]
            points = frame.points(plain[order]) + rng.standard_normal((len(plain), len(frame.axes))) * sigma
            noisy = frame.back(points)
            answers = self.answers(told[order], for_label, rng)
        item = draw_members(len(noisy), 1, epochs, rng, batch="all", distinct=False)[:, 0]
        members, weights = crowds.members[item], crowds.weights[item]
        # What mix and scale cannot say, the projection among it, goes into the key's noise.
        noise: Floats = noisy[item] - np.einsum("im,imd->id", weights, plain[members])
        key = Key(members[:, 0], members, weights, noise=noise)
        budget = {"epsilon": self.epsilon, "delta": self.delta}
        notes = {
            "nominal": budget,
            "accounted": budget,
            "clip_bound": frame.bound,
            "noise_scale": sigma / math.sqrt(self.honest),
            "directions": len(frame.axes),
            "label_epsilon": for_label,
            # With joint no label is released; the one that is in the point is under the point's own ε.
            **({} if self.labels == "joint" else {"labels": LABELS[self.labels]}),
            **({"sums_of": self.crowd} if self.crowd > 1 else {}),
            **({"local": {"epsilon": spent[0], "delta": spent[1]}} if self.shuffled else {}),
            "drawn": "once",
        }
        # Not plain + noise: its rounding would tell of the vector, however little.
        return Release(noisy[item], answers[item], notes), key

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
        low, high = self.bounds
        noise = rng.laplace(0.0, (high - low) / epsilon, labels.shape)
        bounded: Floats = (np.clip(labels, low, high) + noise).astype(np.float32)
        return bounded

    @property
    def bounds(self) -> tuple[float, float]:
        """Of the scores of a regression."""
        if self.low is None or self.high is None:
            raise UsageError(
                "release-once: scores of a regression have no bound by themselves, so no noise can protect them: give "
                "low= and high=, or labels=public"
            )
        return self.low, self.high

    def corner(self, labels: Floats) -> Wide:
        """What labels=joint multiplies points with: a class's corner of the simplex, a score's place in [-1, 1]."""
        if labels.shape[1] > 1:
            found: Wide = joint.corners(labels.shape[1])[labels.argmax(axis=1)]
            return found
        low, high = self.bounds
        place: Wide = 2 * (np.clip(labels.astype(np.float64), low, high) - low) / max(high - low, 1e-300) - 1
        return place

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
        frame, classes = self.frame(public), labels.shape[1]
        if self.labels == "joint":
            rows = self.carrier(public, frame, classes).points(encodings, clip=False)
            known = (frame, rows, labels[:, 0], notes["noise_scale"] / self.crowd, self.crowd)
            return joint.regression(*known, *self.bounds) if classes == 1 else joint.discriminant(*known, classes)
        points = frame.points(encodings, clip=False)
        if classes == 1:
            return regression(frame, points, labels[:, 0].astype(np.float64), notes["noise_scale"])
        confusion = np.eye(classes)
        if self.labels == "private":
            keep = keep_rate(notes["label_epsilon"], classes)
            confusion = np.full((classes, classes), (1 - keep) / (classes - 1)) + np.eye(classes) * (
                keep - (1 - keep) / (classes - 1)
            )
        return discriminant(frame, points, labels.astype(np.float64), confusion, notes["noise_scale"])


def keep_rate(epsilon: float, classes: int) -> float:
    """How often k-ary randomised response tells the truth."""
    return 1 / (1 + (classes - 1) * math.exp(-epsilon))


@lru_cache(maxsize=64)
def _warn_of_private(share: str) -> None:
    """Once: a public corpus that holds private sentences would shape the release by them, outside of any budget."""
    log.warning(
        "release-once: %s of the private examples are in the public corpus, whose directions no ε covers: choose "
        "another with public=",
        share,
    )
