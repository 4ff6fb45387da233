"""xie-hong where training has flattened the encoder: one or two axes then hold most variance of all vectors.

Least squares on the coordinates, which `reconstruct` descends on, sees little but those axes: sentences differ on all
the others by too little to count, and descent takes forever along them. Mixes of r vectors lie in r − 1 dimensions
however narrow these are, and without noise all are exact. So the signs are learnt first (`factors`), encodings are
taken to that plane with every direction made equally wide, corners and weights are found there, and only then are the
vectors solved on the coordinates, each with its own signs. What a coordinate leaves unexplained says how far its signs
can be trusted, and so how much it counts when the plane is found again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import Floats
from bench.attacks.xie_hong import clusters
from bench.attacks.xie_hong.demask import ReferenceStatistics, Votes
from bench.attacks.xie_hong.reconstruct import EXPLAINED, Fit, Problem, flip, reconstruct, start, synchronise

# Vectors are solved in double precision: the narrowest directions are a millionth of the widest.
Reals = npt.NDArray[np.floating[Any]]
# The share of all variance on the widest axis from which on this is worth its price, coordinates being in units of
# their own deviation. Pre-trained encoders measure 0.03 to 0.06, those fine-tuned through TextHide 0.17 to 0.65.
DOMINANT = 0.1
# The unexplained share of the variance that float32 encodings leave.
FLOOR = 1e-8
# Encodings of each example that settle its vector: with as many to spare, the half that is trusted less is left out.
ENOUGH = 10
# Turns of signs and least squares for the vectors: they settle within few.
SETTLE = 20
_EMPTY: Floats = np.zeros(0, dtype=np.float32)


def flattened(vectors: Floats) -> bool:
    """One axis stands out. Seen in the vectors that the attacker knows, alone."""
    scaled = (vectors - vectors.mean(axis=0)) / np.maximum(vectors.std(axis=0), 1e-12)
    power = np.linalg.eigvalsh((scaled.T @ scaled).astype(np.float64))
    return bool(power[-1] > DOMINANT * power.sum())


@dataclass
class Plane:
    """Where the mixes lie: `down` takes centred encodings to coordinates in which they are equally wide everywhere."""

    mean: Reals
    down: Reals

    @classmethod
    def of(cls, signed: Reals, doubt: Reals, dims: int) -> Plane:
        """The widest directions in units of each coordinate's doubt: one with wrong signs would be a direction."""
        mean, unit = signed.mean(axis=0), np.sqrt(doubt)
        centred = (signed - mean) / unit
        power, axes = np.linalg.eigh(centred.T @ centred / len(centred))
        wide = np.maximum(power[-dims:], 1e-12 * power[-1])
        return cls(mean, axes[:, -dims:] / np.sqrt(wide) / unit[:, None])

    def points(self, values: Reals) -> Floats:
        inside: Floats = ((values - self.mean) @ self.down).astype(np.float32)
        return inside


def explain(
    values: Floats,
    reference: Floats,
    *,
    masked: bool,
    spread: float,
    examples: int,
    k: int,
    rounds: int = 8,
    phase: bool = True,
    moves: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> Fit:
    """Vectors and weights that explain the encodings; `reference` are vectors like the private ones.

    The signs of the vectors are the reference's, too, where there is a mask.
    """
    scale = np.maximum(reference.std(axis=0), 1e-12)
    values, reference = values / scale, reference / scale
    doubt: Reals = np.full(values.shape[1], FLOOR)
    signed: Reals = values
    if masked:
        from bench.attacks.xie_hong.factors import demask

        signed, doubt, trusted = demask(
            values, reference, spread, examples, lambda turn: progress(f"signs, round {turn + 1}")
        )
        if trusted.sum() >= ENOUGH * examples:
            values, signed = values[trusted], signed[trusted]
    signed = signed.astype(np.float64)
    best: Fit | None = None
    failed = 0
    fit: Fit | None = None
    for turn in range(rounds):
        progress(f"reconstruct {turn + 1}/{rounds}")
        plane = Plane.of(signed, np.maximum(doubt, FLOOR), examples - 1)
        fit = _weigh(plane.points(signed), None if fit is None else _inside(plane, fit), spread, examples, k, moves)
        fit, signed, doubt = _vectors(values, signed, fit.weights, masked, phase and masked)
        if best is None or fit.error < 0.9 * best.error:
            best, failed = fit.copy(), 0
        else:
            failed += 1
        if best.error < EXPLAINED * 0.1 or failed > 1:
            break
    assert best is not None
    best.vectors = (best.vectors * scale).astype(np.float32)
    return best


def _inside(plane: Plane, fit: Fit) -> Fit:
    return Fit(plane.points(fit.vectors), fit.weights, None, _EMPTY)


def _weigh(points: Floats, before: Fit | None, spread: float, examples: int, k: int, moves: bool) -> Fit:
    """Corners and weights in the plane: from where they were and, unless that explains all, from new corners too.

    The plane is better each time, and the better it is, the more corners can be picked right at once.
    """
    dims = points.shape[1]
    # Mixes have variance 1 here, so the corners have that of mixes over the share that mixing keeps.
    var = np.full(dims, 1 / spread, dtype=np.float32)
    problem = Problem(points, ReferenceStatistics(np.zeros_like(var), var, 2 * dims**0.5), _none(points), False, k)
    found: Fit | None = None
    if before is not None:
        found = reconstruct(problem, start(problem, before.vectors, None, before.weights), rounds=4, moves=moves)
    if found is None or found.error > 1e-4:
        rows = clusters.vertices(points, examples)
        other = reconstruct(problem, start(problem, points[rows], None), moves=moves)
        found = other if found is None or other.error < found.error else found
    return found


def _vectors(values: Floats, signed: Reals, weights: Floats, masked: bool, phase: bool) -> tuple[Fit, Reals, Reals]:
    """Vectors by least squares given the weights, with the signs that fit them; also those, and what is left over."""
    share = weights.astype(np.float64)
    gram = share.T @ share
    # A vector that no encoding uses has no equation; this much ridge leaves it at zero.
    solve = np.linalg.solve(gram + 1e-8 * np.trace(gram) / len(gram) * np.eye(len(gram)), share.T)
    vectors, signed = _settle(values, share, solve, solve @ signed, signed, masked)
    left = _left(values, share @ vectors, masked)
    if phase:
        # Signs of a coordinate can be wrong together for some examples: solve them afresh where that fits better.
        fit = Fit(vectors.astype(np.float32), weights, None, _EMPTY)
        ones = np.ones(len(left), dtype=np.float32)
        reference = ReferenceStatistics(np.zeros_like(ones), ones, np.inf)
        problem = Problem(values, reference, _none(values), True, int((weights > 0).sum(axis=1).max()))
        synchronise(problem, fit)
        flip(problem, fit)
        others, their_signed = _settle(values, share, solve, fit.vectors.astype(np.float64), signed, masked)
        theirs = _left(values, share @ others, masked)
        better = theirs < left
        vectors, signed = np.where(better, others, vectors), np.where(better, their_signed, signed)
        left = np.minimum(left, theirs)
    # In double precision, though `Fit` is declared for less.
    fitted: Any = vectors
    return Fit(fitted, weights, None, _EMPTY, float(left.mean())), signed, left


def _settle(
    values: Reals, share: Reals, solve: Reals, vectors: Reals, signed: Reals, masked: bool
) -> tuple[Reals, Reals]:
    for _ in range(SETTLE if masked else 0):
        before, signed = signed, np.copysign(np.abs(values), share @ vectors)
        vectors = solve @ signed
        if (signed == before).all():
            break
    return vectors, signed


def _left(values: Reals, model: Reals, masked: bool) -> Reals:
    """Mean squared error per coordinate."""
    wrong = np.abs(values) - np.abs(model) if masked else values - model
    left: Reals = (wrong**2).mean(axis=0)
    return left


def _none(values: Floats) -> Votes:
    return Votes(None, len(values))
