"""Batched pursuit: sparse non-negative mixes of a dictionary, for many encodings at once.

All encodings take a step together: choose one more candidate each, then refit the weights of each on its few
candidates. Nothing of size encodings × candidates × dimensions is ever made; gathered candidates come in blocks of at
most GATHER elements.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bench.attacks.unmix.dictionary import Dictionary

GATHER = 8 << 20
# The float32 sum of a mix is rounded by about this much.
LIGHTEST = 1e-6
# A mean square so large that it holds no weight back.
ANY = 1e12


def refit(
    dictionary: Dictionary, support: Tensor, target: Tensor, metric: Tensor, weight: float
) -> tuple[Tensor, Tensor]:
    """Non-negative weights on each row's support (-1: an empty slot) and the mix they make.

    Least squares under the diagonal `metric` along the axes, held back by the weights' mean square `weight`: that
    counts for nothing without noise, and keeps noise from being fitted where there is much.
    """
    weights = torch.zeros(support.shape, device=target.device)
    model = torch.empty_like(target)
    for rows in _blocks(support, target.shape[1]):
        atoms = dictionary.atoms[support[rows].clamp_min(0)]
        heavy = atoms * metric[rows, None, :]
        gram = torch.bmm(heavy, atoms.transpose(1, 2)).double()
        torch.diagonal(gram, dim1=1, dim2=2).add_(1 / weight)
        right = torch.bmm(heavy, target[rows, :, None])[:, :, 0].double()
        weights[rows] = nonnegative(gram, right, support[rows] >= 0).float()
        model[rows] = torch.bmm(weights[rows, None, :], atoms)[:, 0]
    return weights, model


def polish(
    dictionary: Dictionary, support: Tensor, weights: Tensor, encodings: Tensor, masked: bool, turns: int = 3
) -> tuple[Tensor, Tensor]:
    """Weights to full precision, and the relative residual: about 1e-7 if and only if the support is complete.

    With a mask, the signs are those of the fit itself, which settle within few turns when the support is right.
    """
    weights = weights.clone()
    residual = torch.empty(len(support), device=encodings.device)
    for rows in _blocks(support, 2 * encodings.shape[1]):
        atoms = dictionary.scaled[support[rows].clamp_min(0)].double()
        seen = encodings[rows].double()
        gram = torch.bmm(atoms, atoms.transpose(1, 2))
        active = (support[rows] >= 0) & (weights[rows] > 0)
        current = weights[rows].double() * active
        for _ in range(turns):
            fit = torch.bmm(current[:, None, :], atoms)[:, 0]
            signed = torch.copysign(seen, fit) if masked else seen
            right = torch.bmm(atoms, signed[:, :, None])[:, :, 0]
            current = nonnegative(gram, right, active)
        fit = torch.bmm(current[:, None, :], atoms)[:, 0]
        wrong = seen.abs() - fit.abs() if masked else seen - fit
        # An encoding of zeros is explained by nothing, least of all by no sentence at all.
        size = seen.norm(dim=1)
        residual[rows] = torch.where(size > 0, wrong.norm(dim=1) / size, 1.0).float()
        # A candidate so light that it only takes up rounding errors is not in the mix.
        weights[rows] = torch.where(current > LIGHTEST, current, 0.0).float()
    return weights, residual


def nonnegative(gram: Tensor, right: Tensor, active: Tensor) -> Tensor:
    """Solve each small system; where a weight comes out negative, without that candidate.

    An active set that only shrinks is not full non-negative least squares, but a candidate that fits with a negative
    weight next to the others is a wrong one, and a later step can bring it back.
    """
    size = gram.shape[-1]
    unit = torch.eye(size, dtype=gram.dtype, device=gram.device)
    # Near-twins in one support make the system singular: this much ridge, far below float32, keeps it solvable.
    gram = gram + torch.diag_embed(torch.diagonal(gram, dim1=1, dim2=2) * 1e-11 + 1e-30)
    weights = torch.zeros_like(right)
    open_ = torch.arange(len(gram), device=gram.device)
    for _ in range(size + 1):
        mine = active[open_]
        system = torch.where(mine[:, :, None] & mine[:, None, :], gram[open_], unit)
        solved = torch.linalg.solve(system, (right[open_] * mine)[:, :, None])[:, :, 0]
        weights[open_] = solved.clamp_min(0)
        negative = mine & (solved <= 0)
        active[open_] = mine & ~negative
        open_ = open_[negative.any(1)]
        if not len(open_):
            break
    return torch.where(active, weights, 0.0)


def greedy(dictionary: Dictionary, encodings: Tensor, k: int) -> Tensor:
    """Orthogonal matching pursuit on plain mixes: n × k candidates, in the order of their choice.

    What `unmix` does in its first k rounds when there is no mask, in isolation.
    """
    target = (encodings - dictionary.mean) @ dictionary.axes
    ratio = torch.full((len(target), 1), 1e-8, device=target.device)
    rho = torch.ones_like(ratio)
    metric = 1 / (dictionary.spread + ratio)
    support = torch.full((len(target), k), -1, dtype=torch.long, device=target.device)
    model = torch.zeros_like(target)
    for slot in range(k):
        support[:, slot] = dictionary.best(target - model, ratio, rho, support, ANY)[0][:, 0]
        _, model = refit(dictionary, support, target, metric, ANY)
    return support


def _blocks(support: Tensor, dim: int) -> Iterator[slice]:
    step = max(1, GATHER // max(1, support.shape[1] * dim))
    for at in range(0, len(support), step):
        yield slice(at, at + step)
