"""Sign recovery with a precision of its own for every coordinate, for encoders that training has flattened.

Fine-tuning through a defense leaves one or two axes with nearly all variance. `signs.recover` gives all coordinates
one common precision, an average that then fits none of them: a few are nearly certain, most are open. Expectation
propagation (Minka 2001) keeps one Gaussian site per coordinate, and so the observation handed to the pursuit has a full
covariance. The price is the inverse of a d × d matrix per encoding and sweep (2 ms at d = 384), where `recover` needs
two products; in return few sweeps do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bench.attacks.unmix.dictionary import Dictionary, Prior
from bench.attacks.unmix.pursuit import nonnegative

# The share of all variance on the widest axis from which on this is worth its price. Pre-trained encoders measure 0.03
# to 0.06, those fine-tuned through TextHide 0.17 to 0.41; coordinates being in units of their own deviation.
DOMINANT = 0.1
# Encodings at a time: the matrices of a block take this many bytes, and three such blocks live at once.
BLOCK_BYTES = 32 << 20
FIRST_SWEEPS, SWEEPS = 3, 1
DAMPING = 0.8
# Variances of the sites. A smaller one makes the matrix singular in float32 and a larger one says nothing.
LOW, HIGH = 1e-5, 1e2
# Candidates whose score is computed exactly, the best of all by an approximation.
SHORT = 64


def dominated(dictionary: Dictionary) -> bool:
    """One axis stands out so far that a common precision fails. Seen in the candidates alone."""
    return float(dictionary.spread.max() / dictionary.spread.sum()) > DOMINANT


def block(dim: int) -> int:
    return max(1, BLOCK_BYTES // (4 * dim * dim))


@dataclass
class Sites:
    """What each coordinate's magnitude says of its value, as a Gaussian: n × d means and variances."""

    mean: Tensor
    variance: Tensor

    def take(self, rows: Tensor) -> Sites:
        return Sites(self.mean[rows], self.variance[rows])


@dataclass
class DenseBelief:
    """The signed mix seen through its sites; `precision` (n × d × d) is the inverse covariance of what was seen.

    That covariance is rho times the candidates' plus the variance of the sites. `model` along the axes and `rho` have
    the meaning that they have in `signs.Belief`.
    """

    precision: Tensor
    rho: Tensor
    message: Sites

    # Weights under this metric are rough where most signs are open, though the support may be right: polish nearly all.
    near: ClassVar[float] = 0.5

    def refit(self, dictionary: Dictionary, support: Tensor, weight: float) -> tuple[Tensor, Tensor]:
        """Non-negative weights on each row's support (-1: an empty slot) and the mix they make, along the axes."""
        chosen = support.clamp_min(0)
        atoms = dictionary.scaled[chosen] - dictionary.mean
        heavy = torch.bmm(atoms, self.precision)
        gram = torch.bmm(heavy, atoms.transpose(1, 2)).double()
        torch.diagonal(gram, dim1=1, dim2=2).add_(1 / weight)
        right = torch.bmm(heavy, (self.message.mean - dictionary.mean)[:, :, None])[:, :, 0].double()
        weights = nonnegative(gram, right, support >= 0).float()
        return weights, torch.bmm(weights[:, None, :], dictionary.atoms[chosen])[:, 0]

    def best(
        self, dictionary: Dictionary, model: Tensor, taken: Tensor, weight: float, top: int, prior: Prior | None
    ) -> tuple[Tensor, Tensor]:
        """The `top` candidates that explain most of what `model` leaves, with probabilities: see `Dictionary.best`.

        The norm of a candidate depends on the encoding through the whole matrix, too much to compute for all. A short
        list comes from the dictionary's table, at the level that gives the average candidate its right norm.
        """
        rest = self.message.mean - dictionary.mean - model @ dictionary.axes.T
        query = _times(self.precision, rest)
        average = self.rho[:, 0] * _inner(self.precision, dictionary.covariance)
        level = dictionary.level_of_average(average)
        short = min(max(SHORT, top), len(dictionary))
        index, score, others = dictionary.leading(
            self.rho * (query @ dictionary.axes), level, self.rho, taken, weight, short, prior
        )
        atoms = dictionary.scaled[index] - dictionary.mean
        gain = 0.5 * torch.bmm(atoms, query[:, :, None])[:, :, 0].clamp_min(0).square()
        rough = dictionary.norms[level].gather(1, index) / self.rho
        exact = (torch.bmm(atoms, self.precision) * atoms).sum(2)
        score = score + gain / (exact + 1 / weight) - gain / (rough + 1 / weight)
        value, order = score.topk(min(top, short), dim=1)
        peak = value[:, :1]
        # Candidates off the short list are unlikely one by one, but there are many.
        mass = (score - peak).exp().sum(1, keepdim=True) + (others - peak).clamp_max(80).exp()
        odds = (value - peak).exp() / mass
        return index.gather(1, order), odds


def recover(
    dictionary: Dictionary,
    magnitudes: Tensor,
    model: Tensor,
    rho: Tensor,
    noise: Tensor,
    sites: Sites | None,
    field: Tensor | None = None,
) -> DenseBelief:
    """A few sweeps over all coordinates at once; arguments as for `signs.recover`."""
    fit = dictionary.mean + model @ dictionary.axes.T
    covariance = dictionary.covariance
    sweeps = SWEEPS if sites else FIRST_SWEEPS
    sites = sites or Sites(fit, torch.full_like(fit, HIGH))
    for _ in range(sweeps):
        precision = _inverse(covariance, rho, sites.variance)
        sites = _update(precision, magnitudes, fit, noise, sites, field)
        rho = _width(precision, covariance, rho, sites.mean - fit)
    return DenseBelief(_inverse(covariance, rho, sites.variance), rho, sites)


def _update(
    precision: Tensor, magnitudes: Tensor, fit: Tensor, noise: Tensor, sites: Sites, field: Tensor | None
) -> Sites:
    """Each coordinate as all others predict it, then ±magnitude weighed by that, without the prediction's own part.

    With Q the precision of what was seen, leaving out coordinate i predicts it with variance 1/Qᵢᵢ, site included.
    """
    diagonal = torch.diagonal(precision, dim1=1, dim2=2)
    variance = (1 / diagonal - sites.variance).clamp_min(LOW)
    predicted = sites.mean - _times(precision, sites.mean - fit) / diagonal
    seen = variance + noise
    lean = magnitudes * predicted / seen
    tilt = torch.tanh(lean if field is None else lean + field)
    trust = variance / seen
    guess = (1 - trust) * predicted + trust * magnitudes * tilt
    doubt = (trust * noise + (trust * magnitudes).square() * (1 - tilt.square())).clamp_min(1e-9)
    # In natural parameters. An open sign can be wider than its prediction: such a site says next to nothing.
    sharp = (1 / doubt - 1 / variance).clamp(1 / HIGH, 1 / LOW)
    pull = guess * (sharp + 1 / variance) - predicted / variance
    old = 1 / sites.variance
    mixed = (1 - DAMPING) * old + DAMPING * sharp
    return Sites(((1 - DAMPING) * old * sites.mean + DAMPING * pull) / mixed, 1 / mixed)


def _width(precision: Tensor, covariance: Tensor, rho: Tensor, rest: Tensor) -> Tensor:
    """How wide the unexplained part is: one step of expectation maximisation."""
    query = _times(precision, rest)
    moved = rho.square() * (query * (query @ covariance)).sum(1, keepdim=True)
    left = rho * rest.shape[1] - rho.square() * _inner(precision, covariance)[:, None]
    return ((moved + left) / rest.shape[1]).clamp(1e-6, 1)


def _inverse(covariance: Tensor, rho: Tensor, variance: Tensor) -> Tensor:
    matrix = rho[:, :, None] * covariance
    diagonal = torch.diagonal(matrix, dim1=1, dim2=2).add_(variance)
    alone = 1 / diagonal
    factor, failed = torch.linalg.cholesky_ex(matrix)
    inverse = torch.cholesky_inverse(factor)
    # Singular to float32: take the coordinates one by one rather than follow rounding errors.
    bad = torch.nonzero(failed)[:, 0]
    if len(bad):
        inverse[bad] = torch.diag_embed(alone[bad])
    return inverse


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return torch.bmm(matrix, vector[:, :, None])[:, :, 0]


def _inner(matrix: Tensor, other: Tensor) -> Tensor:
    return (matrix * other).sum((1, 2))
