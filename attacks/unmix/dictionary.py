"""The candidate sentences as a dictionary for sparse decoding: distinct, centred, in uncorrelated coordinates.

Memory: two float32 copies of the candidates' vectors (scaled, and rotated), a table of LEVELS norms per candidate,
and score blocks of at most BLOCK_BYTES.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bench.attacks.common.magnitudes import own_mean

BLOCK_BYTES = 64 << 20
# Candidates' norms are tabulated for this many ratios of noise to spread, half a decade apart.
LEVELS = 24
LOWEST = -8.0
# Below this share of the mean spread a direction is taken to be as wide as this: it guards a corpus with fewer
# sentences than dimensions, whose covariance is singular, against dividing by rounding errors.
FLOOR = 1e-5


def distinct(texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """For each row the first row with the same text or, to rounding, the same vector.

    Two rows that nobody can tell apart would share one weight between them in every way; one must stand for both.
    """
    first: dict[str, int] = {}
    of = np.array([first.setdefault(text, row) for row, text in enumerate(texts)], dtype=np.int64)
    heads = np.unique(of)
    if len(heads) < 2:
        return of
    # Equal vectors are neighbours in the order of any projection; a random one sets nearly all others apart.
    direction = np.random.default_rng(0).standard_normal(vectors.shape[1], dtype=np.float32)
    order = heads[np.argsort(vectors[heads] @ direction, kind="stable")]
    near = np.empty(len(order) - 1, dtype=bool)
    for at in range(0, len(near), 4096):
        a, b = vectors[order[:-1][at : at + 4096]], vectors[order[1:][at : at + 4096]]
        near[at : at + 4096] = np.linalg.norm(a - b, axis=1) <= 1e-5 * np.linalg.norm(a, axis=1)
    run = np.concatenate([[0], np.cumsum(~near)])
    lowest = np.full(run[-1] + 1, len(texts), dtype=np.int64)
    np.minimum.at(lowest, run, order)
    twin = np.arange(len(texts))
    twin[order] = lowest[run]
    result: npt.NDArray[np.int64] = twin[of]
    return result


@dataclass
class Prior:
    """How likely each candidate is to be private, as a logarithm, from the encodings decoded so far.

    An encoding's own earlier answer is no evidence for itself: `correction` takes it out again at `own`.
    """

    log: Tensor
    own: Tensor
    correction: Tensor

    def take(self, rows: Tensor) -> Prior:
        return Prior(self.log, self.own[rows], self.correction[rows])


class Dictionary:
    """Candidate j is `atoms[j]`: its deviation from the mean, along the principal axes of all candidates."""

    def __init__(
        self, vectors: npt.NDArray[np.float32], scale: npt.NDArray[np.float32], keep: npt.NDArray[np.bool_], device: str
    ):
        self.device = torch.device(device)
        self.keep = torch.as_tensor(keep, device=self.device)
        self.scale = torch.as_tensor(scale, device=self.device)[self.keep]
        self.scaled = torch.as_tensor(np.ascontiguousarray(vectors[:, keep]), device=self.device) / self.scale
        self.mean = self.scaled.mean(0)
        centred = self.scaled - self.mean
        covariance = (centred.T @ centred).double() / max(len(centred), 1)
        spread, axes = torch.linalg.eigh(covariance)
        self.spread = spread.clamp_min(FLOOR * float(spread.mean())).float()
        self.axes = axes.float()
        self.atoms = centred @ self.axes
        # In the metric of `score` a candidate's norm depends on the encoding only through one number, the ratio
        # of noise to spread: a table saves a second product of the size of the first.
        self.ratios = 10.0 ** (LOWEST + 0.5 * torch.arange(LEVELS, device=self.device))
        self.norms = (1 / (self.spread + self.ratios[:, None])) @ (self.atoms**2).T
        self.norms.clamp_min_(1e-30)

    def __len__(self) -> int:
        return len(self.atoms)

    @property
    def dim(self) -> int:
        return len(self.mean)

    @cached_property
    def covariance(self) -> Tensor:
        """Of the candidates, in the scaled coordinates, with the narrowest directions widened as in `spread`."""
        covariance: Tensor = (self.axes * self.spread) @ self.axes.T
        return covariance

    def load(self, encodings: npt.NDArray[np.float32]) -> Tensor:
        """Encodings in the dictionary's scaled coordinates; what is not finite says nothing, so it counts as zero."""
        rows = torch.as_tensor(np.array(encodings, dtype=np.float32), device=self.device)[:, self.keep]
        return torch.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0) / self.scale

    def by_magnitude(self, encodings: Tensor, rows: Tensor) -> Tensor:
        """For the encodings `rows` the candidate most alike in centred magnitudes: no signs are needed."""
        magnitudes = self.scaled.abs()
        mean = magnitudes.mean(0)
        magnitudes -= mean
        magnitudes /= magnitudes.norm(dim=1, keepdim=True).clamp_min(1e-30)
        own = own_mean(encodings.abs().sum(0), len(encodings), mean)
        step = max(1, BLOCK_BYTES // (4 * max(len(self), 1)))
        parts = [((encodings[some].abs() - own) @ magnitudes.T).argmax(1) for some in torch.split(rows, step)]
        return torch.cat(parts)

    def best(
        self,
        rest: Tensor,
        ratio: Tensor,
        rho: Tensor,
        taken: Tensor,
        weight: float,
        top: int = 1,
        prior: Prior | None = None,
    ) -> tuple[Tensor, Tensor]:
        """For each row of `rest` the `top` candidates that explain most of it, none of `taken`, with probabilities.

        `rest` is what the model leaves unexplained, along the axes. It is taken to be Gaussian with covariance
        rho · (spread + ratio), and a weight to have mean square `weight`; so the log-likelihood gained by the best
        non-negative weight on atom a is ⟨rest, a⟩₊² / 2(⟨a, a⟩ + 1/weight) in that metric. The probability is a
        candidate's among all, one of them being right.
        """
        level = ((torch.log10(ratio[:, 0]) - LOWEST) * 2).round().long().clamp(0, LEVELS - 1)
        query = rest / (self.spread + ratio)
        top = min(top, len(self))
        probability = torch.empty(len(rest), top, device=self.device)
        index = torch.empty(len(rest), top, dtype=torch.long, device=self.device)
        for rows, score in self._scores(query, level, rho, taken, weight, prior):
            # A maximum is several times faster than a sort of one.
            best, index[rows] = score.max(1, keepdim=True) if top == 1 else score.topk(top, dim=1)
            peak = best[:, :1]
            probability[rows] = (best - peak).exp() / score.sub_(peak).exp_().sum(1, keepdim=True)
        return index, probability

    def leading(
        self, query: Tensor, level: Tensor, rho: Tensor, taken: Tensor, weight: float, top: int, prior: Prior | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The `top` candidates by log-likelihood, that likelihood, and the logarithm of the sum over all the others.

        `query` may come from a metric that is not diagonal along the axes; norms are then those of `level`, roughly.
        """
        others = torch.empty(len(query), 1, device=self.device)
        value = torch.empty(len(query), top, device=self.device)
        index = torch.empty(len(query), top, dtype=torch.long, device=self.device)
        for rows, score in self._scores(query, level, rho, taken, weight, prior):
            value[rows], index[rows] = score.topk(top, dim=1)
            others[rows] = score.scatter_(1, index[rows], float("-inf")).logsumexp(1, keepdim=True)
        return index, value, others

    def level_of_average(self, norm: Tensor) -> Tensor:
        """The level of the table at which the average candidate comes nearest to this squared norm (times rho)."""
        averages = (self.spread / (self.spread + self.ratios[:, None])).sum(1)
        level: Tensor = (norm[:, None] - averages).abs().argmin(1)
        return level

    def _scores(
        self, query: Tensor, level: Tensor, rho: Tensor, taken: Tensor, weight: float, prior: Prior | None
    ) -> Iterator[tuple[slice, Tensor]]:
        """Log-likelihoods of all candidates, some encodings at a time; those `taken` are ruled out."""
        step = max(1, BLOCK_BYTES // (4 * max(len(self), 1)))
        for at in range(0, len(query), step):
            rows = slice(at, at + step)
            score = (query[rows] @ self.atoms.T).clamp_min_(0).square_()
            score /= self.norms[level[rows]] + rho[rows] / weight
            score *= 0.5 / rho[rows]
            if prior is not None:
                score += prior.log
                score.scatter_add_(1, prior.own[rows].clamp_min(0), prior.correction[rows])
            barred = torch.where(taken[rows] >= 0, float("-inf"), float("inf"))
            score.scatter_reduce_(1, taken[rows].clamp_min(0), barred, "amin")
            yield rows, score
