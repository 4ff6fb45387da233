"""Signs of masked mixes under a model of few factors: x = mean + loadings·z + a little of each coordinate's own.

Mixes of r vectors lie in r − 1 dimensions. Once roughly known, that plane all but fixes the signs: the magnitudes of d
coordinates against r − 1 unknowns. So the model is learnt from the encodings that it demasks: it starts as the
reference's mean and covariance, signs are inferred under it, mean and covariance of the signed encodings make the next
one. Inference is expectation propagation with a Gaussian site per coordinate (Minka 2001), as in `unmix`, but with few
factors: one sweep takes two products with a table of loadings and the inverse of a small matrix per encoding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from bench import Floats

# Factors that stand for the reference, or a third of the dimensions where these are few. The rest of its variance
# counts as each coordinate's own.
REFERENCE = 128
FIRST_SWEEPS, SWEEPS, DAMPING = 4, 3, 0.8
# Variances of the sites, coordinates being in units of their deviation: narrower is rounding error, wider says nothing.
LOW, HIGH = 1e-6, 1e2
# Encodings at a time: the small matrices of a block take this many bytes, and about four such blocks live at once.
BLOCK_BYTES = 16 << 20
# Rounds of learning, at most, and the share by which one must reduce what the plane does not explain.
ROUNDS, GAIN = 12, 0.15


@dataclass
class Factors:
    """A Gaussian with covariance loadings·loadingsᵀ + diag(own)."""

    mean: Tensor
    loadings: Tensor
    own: Tensor
    products: Tensor = field(init=False)
    """d × q(q+1)/2: what coordinate i adds to each entry of a q × q matrix, upper triangle only"""

    def __post_init__(self) -> None:
        self.upper = torch.triu_indices(self.loadings.shape[1], self.loadings.shape[1])
        self.products = self.loadings[:, self.upper[0]] * self.loadings[:, self.upper[1]]

    @classmethod
    def of(cls, mean: Tensor, covariance: Tensor, count: int, doubt: Tensor | float = 0.0) -> Factors:
        """The `count` widest axes; `doubt` is variance that each coordinate has beside the covariance."""
        wide, axes = torch.linalg.eigh(covariance.double())
        loadings = (axes[:, -count:] * wide[-count:].clamp_min(0).sqrt()).float()
        own = torch.diagonal(covariance).float() - loadings.square().sum(1)
        return cls(mean, loadings, (own + doubt).clamp_min(LOW))

    def others(self, site: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each coordinate as the sites of all the others predict it."""
        size = self.loadings.shape[1]
        a, b = self.upper
        sharp = 1 / (self.own + variance)
        matrix = torch.empty(len(site), size, size)
        matrix[:, a, b] = matrix[:, b, a] = sharp @ self.products
        torch.diagonal(matrix, dim1=1, dim2=2).add_(1)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky_ex(matrix)[0])
        rest = (site - self.mean) * sharp
        scores = torch.bmm(inverse, (rest @ self.loadings)[:, :, None])[:, :, 0]
        # Off the diagonal every entry counts twice. Q is the inverse covariance of what the sites see (Woodbury).
        half = inverse[:, a, b] * torch.where(a == b, 1.0, 2.0)
        diagonal = (sharp - sharp.square() * (half @ self.products.T)).clamp_min(1e-3 * sharp)
        pull = rest - sharp * (scores @ self.loadings.T)
        return site - pull / diagonal, (1 / diagonal - variance).clamp_min(LOW)

    def signed(self, magnitudes: Tensor, sweeps: int) -> Tensor:
        """The expected value of each coordinate, which is ±its magnitude."""
        out = torch.empty_like(magnitudes)
        step = max(1, BLOCK_BYTES // (4 * self.loadings.shape[1] ** 2))
        for at in range(0, len(magnitudes), step):
            seen = magnitudes[at : at + step]
            site, variance = self.mean.expand_as(seen), torch.full_like(seen, HIGH)
            for _ in range(sweeps):
                guess, wide = self.others(site, variance)
                tilt = torch.tanh(seen * guess / wide)
                doubt = (seen.square() * (1 - tilt.square())).clamp_min(1e-9)
                # In natural parameters. An open sign can be wider than its prediction: such a site says nothing.
                sharp = (1 / doubt - 1 / wide).clamp(1 / HIGH, 1 / LOW)
                pull = seen * tilt * (sharp + 1 / wide) - guess / wide
                old = (1 - DAMPING) / variance
                variance = 1 / (old + DAMPING * sharp)
                site = (old * site + DAMPING * pull) * variance
            out[at : at + step] = seen * tilt
        return out


def demask(
    values: Floats, reference: Floats, spread: float, examples: int, progress: Callable[[int], None] = lambda turn: None
) -> tuple[Floats, Floats]:
    """Signed encodings as far as they can be told, and per coordinate what their plane leaves unexplained.

    `values` and `reference` are in units of the reference's deviation; `spread` is the share of its variance that a
    mix keeps. Learning ends when the unexplained part no longer falls.
    """
    magnitudes = torch.as_tensor(np.abs(values))
    known = torch.as_tensor(reference)
    mean, covariance = known.mean(0), torch.cov(known.T, correction=0)
    model = Factors.of(mean, spread * covariance, min(REFERENCE, max(1, len(mean) // 3)))
    signed = model.signed(magnitudes, FIRST_SWEEPS)
    for turn in range(ROUNDS):
        progress(turn)
        centred = signed - signed.mean(0)
        doubt = (magnitudes.square() - signed.square()).mean(0)
        fresh = Factors.of(signed.mean(0), centred.T @ centred / len(centred), examples - 1, doubt)
        if turn and fresh.own.mean() > (1 - GAIN) * model.own.mean():
            break
        model = fresh
        signed = model.signed(magnitudes, SWEEPS)
    return signed.numpy(), model.own.numpy()
