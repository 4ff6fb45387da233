"""What encodings say of each other: private sentences recur, and so do masks from a pool.

One encoding alone decides itself when there is no noise. Under noise, and where the corpus lacks sentences, these two
make the second decoding better than the first.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from bench.attacks.unmix.decode import Decoded
from bench.attacks.unmix.dictionary import Dictionary, Prior

# Encodings compared with all others at a time, times the number of others: two such blocks of float32 at once.
PAIRS = 16 << 20
# No sentence is ruled out entirely: a certainty of 1 is that of a model.
SURE = 1 - 1e-6


def shared_sentences(found: Decoded, candidates: int) -> Prior:
    """A log-prior per candidate: how likely it is to be private, judged by the encodings decoded so far.

    A candidate is private if any encoding holds it. One that no encoding is seen to hold may still be: with
    probability `unseen`, that of being private and overlooked everywhere but here. Both shares behind that number are
    estimated: how often a slot's sentence is recognised, and how many of the candidates are private.
    """
    filled = (found.support >= 0) & (found.weights > 0)
    sure = torch.where(filled, torch.where(found.exact[:, None], 1.0, found.certainty), 0.0).double()
    slots = found.support.shape[1]
    recognised = float(sure.sum() / filled.sum().clamp_min(1))
    doubt = torch.log1p(-sure.clamp(max=SURE))
    where = found.support.clamp_min(0)
    total = torch.zeros(candidates, dtype=torch.double, device=doubt.device)
    total.index_add_(0, where.flatten(), doubt.flatten())
    overlooked = min(max(1 - recognised, 0.02), 0.98)
    private = float(-torch.expm1(total).sum()) / candidates / (1 - overlooked**slots)
    private = min(max(private, 1e-6), 1 - 1e-6)
    missed = private * overlooked ** max(slots - 1, 1)
    unseen = missed / (missed + 1 - private)
    log = torch.log(unseen * torch.exp(total) - torch.expm1(total))
    # Without the encoding's own word: its doubt is a part of the total, which is a sum.
    others = (total[where] - doubt).clamp(max=0)
    own = torch.log(unseen * torch.exp(others) - torch.expm1(others))
    correction = torch.where(found.support >= 0, own - log[where], 0.0)
    return Prior(log.float(), found.support, correction.float())


def shared_masks(
    dictionary: Dictionary, encodings: Tensor, rows: Tensor, masks: float, concentration: float, noise: Tensor
) -> Tensor:
    """For the encodings `rows`, half the log-odds of each coordinate's sign, from others under the same mask.

    Vectors share a strong mean, so each coordinate of an encoding is some evidence of its mask's sign: t in ±1. Two
    encodings agree on a coordinate by chance with probability 1/2, and under one mask with (1 + t·t')/2; the sum of
    log(1 + t·t') tells which, and those that share the mask add their evidence.
    """
    evidence = encodings * dictionary.mean / (concentration + noise)
    hint = torch.tanh(evidence)
    squares = hint.square()
    field = torch.empty(len(rows), encodings.shape[1], device=encodings.device)
    step = max(1, PAIRS // max(1, len(encodings)))
    for at in range(0, len(rows), step):
        mine = rows[at : at + step]
        # log(1 + x) to second order: the terms are small where it matters, and two products do for all pairs.
        same = torch.sigmoid(hint[mine] @ hint.T - 0.5 * (squares[mine] @ squares.T) - math.log(masks))
        same.scatter_(1, mine[:, None], 0.0)
        field[at : at + step] = (same @ evidence) * encodings[mine].sign()
    return field
