"""Sentences of a batch whose gradient is faint: a model that knows a sentence well learns next to nothing from it.

Then singular values fall without a gap down to what float32 rounds away, and distances to the span with them. Rounding
is noise like any other, so that the batch is the set of candidates who explain the gradient best, as in noise.py. One
thing more is in the way: inputs that an attacker computes differ from the client's in their last digits, and what a
sentence with a large gradient leaves by that hides those with a small one. It leaves it in the direction of its own
∂L/∂Y alone, and there as much less is believed.

Nobody is named unless all that is left in the end is rounding: else the batch has sentences that are no candidates, and
those that resemble them would be named instead.
"""

from __future__ import annotations

import numpy as np

from bench import Floats, Ints
from bench.attacks.span import noise
from bench.attacks.span.subspace import SINGLE, Values

# What may be left, as a multiple of the first singular value that the batch has no sentence for: the more sentences are
# lost in rounding themselves, the more of rounding's singular values stand before that one.
LEFT = 4.0


def explaining(gradient: Values, inputs: Floats, known: Ints, most: int) -> Ints:
    """Rows of `inputs`, of which each candidate has one, that explain a gradient together with the `known` ones, `most`
    in all; none, if they leave more than rounding."""
    values = np.linalg.svd(gradient, compute_uv=False)
    none = np.empty(0, dtype=np.int64)
    if most >= len(values) or not values[most]:
        return none
    # Of a sum of so many products and rounding, the next singular value is one of rounding's.
    rounding = values[most]
    sigma = float(np.sqrt((values[most:] ** 2).sum() / gradient.size))
    size = np.linalg.norm(inputs, axis=1, keepdims=True)
    units = inputs / np.maximum(size, np.finfo(np.float32).tiny)
    chosen = [int(row) for row in known]
    while len(chosen) < min(most, len(inputs)):
        found = gains(gradient, units, chosen, sigma)
        best = int(np.argmax(found))
        if found[best] <= rounding**2:
            break
        chosen.append(best)
    for _ in range(noise.SWEEPS):
        before = list(chosen)
        for at in range(len(known), len(chosen)):
            chosen[at] = int(np.argmax(gains(gradient, units, chosen[:at] + chosen[at + 1 :], sigma)))
        if chosen == before:
            break
    left = _left(gradient, units[chosen].astype(np.float64), sigma)
    if np.linalg.norm(left, 2) > LEFT * rounding:
        return none
    return np.array(sorted(set(chosen) - set(known.tolist())), dtype=np.int64)


def gains(gradient: Values, units: Floats, chosen: list[int], sigma: float) -> Values:
    """How much of the gradient's square each candidate explains beyond those that are chosen."""
    taken = units[chosen].astype(np.float64)
    products = _left(gradient, taken, sigma).astype(np.float32) @ units.T
    new = np.ones(len(units))
    if chosen:
        inside = units @ np.linalg.qr(taken.T)[0].astype(np.float32)
        new = np.maximum(1 - np.einsum("ij,ij->i", inside, inside, dtype=np.float64), 0.0)
    found: Values = np.einsum("ij,ij->j", products, products, dtype=np.float64) / np.maximum(new, noise.SAME)
    found[new <= noise.SAME] = 0.0
    return found


def _left(gradient: Values, taken: Values, sigma: float) -> Values:
    """What a gradient holds beside some sentences, given the directions of their inputs; less where rounding of those
    inputs reaches."""
    if not len(taken):
        return gradient
    outputs = np.linalg.lstsq(taken.T, gradient.T, rcond=None)[0].T
    left = gradient - outputs @ taken
    directions, size, _ = np.linalg.svd(outputs, full_matrices=False)
    # Of a sentence's inputs, which have length 1 here, rounding moves each by about this much.
    moved = SINGLE / np.sqrt(taken.shape[1])
    share = 1 / np.sqrt(1 + (size * moved / sigma) ** 2)
    found: Values = left - directions @ ((1 - share)[:, None] * (directions.T @ left))
    return found
