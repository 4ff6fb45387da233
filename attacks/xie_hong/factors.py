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
import numpy.typing as npt
import torch
from torch import Tensor

from bench import Floats

# Factors that stand for the reference, or a third of the dimensions where these are few. The rest of its variance
# counts as each coordinate's own.
REFERENCE = 128
FIRST_SWEEPS, SWEEPS, DAMPING = 4, 5, 0.8
# A plane known sharply decides signs in the first sweep and never again, right or wrong: so each coordinate's own
# variance starts at least this wide, and may be a tenth of that in every further sweep.
WARM, COOLING = 1e-3, 0.1
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

    def others(self, site: Tensor, variance: Tensor, warm: float = 0.0) -> tuple[Tensor, Tensor]:
        """Mean and variance of each coordinate as the sites of all the others predict it; `own` is at least `warm`."""
        size = self.loadings.shape[1]
        a, b = self.upper
        sharp = 1 / (self.own.clamp_min(warm) + variance)
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
            for sweep in range(sweeps):
                guess, wide = self.others(site, variance, WARM * COOLING**sweep)
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

    def strangeness(self, signed: Tensor, magnitudes: Tensor) -> Tensor:
        """How far each encoding is off the plane, and how open its signs are, in units of the coordinates' own."""
        unit = self.own.sqrt()
        basis = torch.linalg.qr(self.loadings / unit[:, None])[0]
        rest = (signed - self.mean) / unit
        open_ = (magnitudes.square() - signed.square()) / self.own
        off: Tensor = (rest - (rest @ basis) @ basis.T).square().sum(1)
        return off + open_.sum(1)


def demask(
    values: Floats, reference: Floats, spread: float, examples: int, progress: Callable[[int], None] = lambda turn: None
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Signed encodings as far as they can be told, per coordinate what their plane leaves unexplained, and which of
    the encodings can be trusted: those as near to the plane as its own uncertainty lets them be, at least half.

    `values` and `reference` are in units of the reference's deviation; `spread` is the share of its variance that a
    mix keeps. Learning ends when the unexplained part no longer falls. It looks at the better half only: a few
    encodings settle on signs that are wrong all over, and the narrow directions of the plane would be theirs.
    """
    magnitudes = torch.as_tensor(np.abs(values))
    known = torch.as_tensor(reference)
    mean, covariance = known.mean(0), torch.cov(known.T, correction=0)
    model = Factors.of(mean, spread * covariance, min(REFERENCE, max(1, len(mean) // 3)))
    signed = model.signed(magnitudes, FIRST_SWEEPS)
    strangeness = model.strangeness(signed, magnitudes)
    for turn in range(ROUNDS):
        progress(turn)
        trusted = strangeness <= strangeness.median()
        some = signed[trusted]
        centred = some - some.mean(0)
        doubt = (magnitudes[trusted].square() - some.square()).mean(0)
        fresh = Factors.of(some.mean(0), centred.T @ centred / len(centred), examples - 1, doubt)
        if turn and fresh.own.mean() > (1 - GAIN) * model.own.mean():
            break
        model = fresh
        signed = model.signed(magnitudes, SWEEPS)
        strangeness = model.strangeness(signed, magnitudes)
    near = strangeness <= strangeness.median().clamp_min(magnitudes.shape[1])
    return signed.numpy(), model.own.numpy(), near.numpy()
