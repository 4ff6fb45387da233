"""Stage 1 of xie-hong: which coordinates tell anything, and what is known of the signs.

The paper takes absolute values and throws the signs away. They can be had: sentence vectors share a mean, so a
coordinate's sign under the mask leans towards the mask's, and two encodings under one mask lean the same way. So
encodings are grouped by mask first, and all members of a group vote on each sign together. With one mask (m = 1) or
none, nothing is hidden but one sign per coordinate, and the whole release is solved as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from bench import Floats, Ints

# Two random masks agree in more than 4.5 standard deviations once in 300,000 pairs.
AGREE = 4.5
BLOCK = 256
# Below this many encodings per mask, groups are mostly single encodings: nothing to vote with.
MIN_GROUP = 2.0
# Comparing all groups takes a square table: 256 MiB at this size, and such groups have few members anyway.
MAX_MERGE = 8000


@dataclass(frozen=True)
class ReferenceStatistics:
    """Mean and variance of vectors like the private ones, from the corpus or the public corpus."""

    mean: Floats
    var: Floats
    radius: float
    """the largest plausible distance of a vector from the mean, in standard deviations of each coordinate"""

    @classmethod
    def of(cls, vectors: npt.ArrayLike) -> ReferenceStatistics:
        # In double precision: the order of the sentences must not show in the last digit, from which descent departs.
        values = np.asarray(vectors, dtype=np.float64)
        mean, var = values.mean(axis=0), values.var(axis=0)
        live = var > 1e-6 * max(float(np.median(var)), 1e-30)
        far = np.sqrt((((values - mean)[:, live]) ** 2 / var[live]).sum(axis=1))
        return cls(mean.astype(np.float32), var.astype(np.float32), round(1.25 * float(np.percentile(far, 99)), 4))


def live_coordinates(encodings: Floats, reference: ReferenceStatistics) -> npt.NDArray[np.bool_]:
    """Coordinates that vary; some of minilm's are constant, and would be divided by nothing."""
    magnitudes = np.abs(encodings)
    typical = max(float(np.median(reference.var)), 1e-30)
    live: npt.NDArray[np.bool_] = (reference.var > 1e-6 * typical) & (magnitudes.var(axis=0) > 1e-8 * typical)
    return live


def lean(encodings: Floats, reference: ReferenceStatistics, spread: float) -> Floats:
    """Log-odds (halved) that each sign is that of the mean: y·μ/σ², for a mix with that share of the variance."""
    evidence: Floats = encodings * (reference.mean / np.maximum(reference.var * spread, 1e-12))
    return np.clip(evidence, -4, 4)


def group_masks(evidence: Floats) -> Ints:
    """Group numbers of the encodings: those that lean alike share a mask.

    Leaders first: each block of encodings joins the groups there are, and who fits none founds one; then a few
    rounds of moving everybody to the best group. Strict on purpose: a group split in two costs some votes, a wrong
    member brings wrong signs.
    """
    soft = np.tanh(evidence)
    power = (soft**2).mean(axis=0)
    order = np.argsort(-(soft**2).sum(axis=1), kind="stable")
    sums = np.zeros((0, evidence.shape[1]), dtype=np.float32)
    group = np.full(len(evidence), -1)

    def fit(rows: Floats, totals: Floats) -> Floats:
        votes = np.tanh(totals)
        scores: Floats = rows @ votes.T / np.sqrt(np.maximum((votes**2) @ power, 1e-12))
        return scores

    for at in range(0, len(order), BLOCK):
        block = order[at : at + BLOCK]
        rest = block
        if len(sums):
            scores = fit(soft[block], sums)
            best = scores.argmax(axis=1)
            joins = scores[np.arange(len(block)), best] > AGREE
            group[block[joins]] = best[joins]
            np.add.at(sums, best[joins], evidence[block[joins]])
            rest = block[~joins]
        founded = np.zeros((0, evidence.shape[1]), dtype=np.float32)
        for i in rest:
            place = len(founded)
            if place:
                scores = fit(soft[i : i + 1], founded)[0]
                place = int(scores.argmax()) if scores.max() > AGREE else place
            if place < len(founded):
                founded[place] += evidence[i]
            else:
                founded = np.vstack([founded, evidence[i]])
            group[i] = len(sums) + place
        sums = np.vstack([sums, founded])
    for _ in range(10):
        totals = np.zeros_like(sums)
        np.add.at(totals, group, evidence)
        moved = fit(soft, totals).argmax(axis=1)
        if (moved == group).all():
            break
        _, group = np.unique(moved, return_inverse=True)
        sums = sums[: group.max() + 1]
    return _merge(evidence, group)


def _merge(evidence: Floats, group: Ints) -> Ints:
    """Join groups whose votes agree: a mask that two leaders founded twice."""
    for _ in range(3):
        count = int(group.max()) + 1
        if count > MAX_MERGE:
            break
        totals = np.zeros((count, evidence.shape[1]), dtype=np.float32)
        np.add.at(totals, group, evidence)
        votes = np.tanh(totals)
        # Under unlike masks the products have random signs, so their sum has this standard deviation.
        strength = np.sqrt((votes**2) @ (votes**2).T)
        z = (votes @ votes.T) / np.maximum(strength, 1e-6)
        np.fill_diagonal(z, 0)
        best = z.argmax(axis=1)
        mutual = (best[best] == np.arange(count)) & (z.max(axis=1) > 1.5 * AGREE)
        target = np.where(mutual, np.minimum(best, np.arange(count)), np.arange(count))
        if (target == np.arange(count)).all():
            break
        _, group = np.unique(target[group], return_inverse=True)
    return group


class Votes:
    """Sums evidence over the encodings that share a mask, and deals the outcome back to each of them."""

    def __init__(self, group: Ints | None, n: int):
        self.group = group
        self._sum: Any = None
        if group is not None and int(group.max()) + 1 < n:
            shape = (int(group.max()) + 1, n)
            self._sum = csr_matrix((np.ones(n, dtype=np.float32), (group, np.arange(n))), shape=shape)

    def __call__(self, evidence: Floats) -> Floats:
        """Expected signs, between -1 and 1."""
        if self._sum is None:
            return np.tanh(evidence)
        shared: Floats = np.tanh(self._sum @ evidence)[self.group]
        return shared
