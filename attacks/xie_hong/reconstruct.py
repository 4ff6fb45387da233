"""Stage 5 of xie-hong: vectors and weights that explain the magnitudes, min Σ (|Y| − |ΛX|)².

The hidden signs are a latent variable, so this is an EM: expected signs given the model (encodings under one mask
vote together), weights on the simplex, vectors by least squares with the reference as prior. Descent alone stops at
signs that are wrong together, so between the rounds each coordinate's signs are solved over all examples at once
(`synchronise`), single ones are flipped where that fits better (`flip`), and vectors that explain nothing are moved
to what is left unexplained (`respawn`). A round that does not lower the objective is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from bench import Floats, Ints
from bench.attacks.xie_hong.demask import ReferenceStatistics, Votes
from bench.attacks.xie_hong.weights import simplex
from bench.toolkit.search import unit

# Weights below this are rounding of the solver, not members.
MEMBER = 0.02
# Mean squared error in units of the variance: float32 arithmetic ends about here, and so does the search.
EXPLAINED = 1e-6


@dataclass
class Fit:
    """Vectors r × d, weights n × r, expected signs n × d (None: no mask to undo) and noise per coordinate."""

    vectors: Floats
    weights: Floats
    signs: Floats | None
    noise: Floats
    error: float = np.inf

    def copy(self) -> Fit:
        signs = None if self.signs is None else self.signs.copy()
        return replace(self, vectors=self.vectors.copy(), weights=self.weights.copy(), signs=signs)

    @property
    def model(self) -> Floats:
        mixed: Floats = self.weights @ self.vectors
        return mixed


@dataclass(frozen=True)
class Problem:
    """What is given and does not change: live coordinates only."""

    values: Floats
    reference: ReferenceStatistics
    votes: Votes
    masked: bool
    k: int
    total: float = 1.0
    """how strongly weights sum to 1; 0 where public sentences take an unknown share"""
    fixed_weights: bool = False

    def signed(self, fit: Fit) -> Floats:
        """The encodings as far as the mask can be undone: E[σ]·y."""
        return self.values if fit.signs is None else self.values * fit.signs

    def residual(self, fit: Fit) -> Floats:
        """What the model leaves, with the model's signs on what was given."""
        model = fit.model
        return (np.copysign(np.abs(self.values), model) if self.masked else self.values) - model


def start(problem: Problem, vectors: Floats, signs: Floats | None, weights: Floats | None = None) -> Fit:
    n, r = len(problem.values), len(vectors)
    if weights is None:
        weights = np.full((n, r), 1 / r, dtype=np.float32)
    given = problem.values if signs is None else problem.values * signs
    noise = np.maximum((problem.values**2).mean(axis=0) - given.mean(axis=0) ** 2, 1e-12)
    return Fit(vectors.astype(np.float32), weights.astype(np.float32), signs, noise)


def reconstruct(
    problem: Problem,
    fit: Fit,
    *,
    rounds: int = 8,
    steps: int = 10,
    phase: bool = True,
    moves: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> Fit:
    """Rounds of descent, sign search and moves, keeping the best."""
    best: Fit | None = None
    failed = 0
    for turn in range(rounds):
        progress(f"reconstruct {turn + 1}/{rounds}")
        # New vectors first find their place without the limit of k, which would cut them off at once.
        # They are close to old ones at times, and coordinate descent takes many sweeps to tell them apart; if the
        # vectors were solved before that, they would become one again.
        descend(problem, fit, 4, first=30, sparse=False)
        descend(problem, fit, steps - 4)
        if phase and problem.masked:
            synchronise(problem, fit)
            flip(problem, fit)
        descend(problem, fit, steps)
        if best is None or fit.error < best.error * (1 - 1e-3):
            best, failed = fit.copy(), 0
        else:
            failed += 1
        if best.error < EXPLAINED or failed > 2:
            break
        fit = best.copy()
        if turn >= 1:
            # By now the model knows the signs better than the groups, in which a few members are wrong.
            problem = replace(problem, votes=Votes(None, len(problem.values)))
        moved = respawn(problem, fit, skip=3 * failed) if moves else 0
        if not moved and failed:
            break
    assert best is not None
    return best


def descend(problem: Problem, fit: Fit, steps: int, *, first: int = 3, sparse: bool = True) -> None:
    """EM steps; `fit` is changed in place. The first step takes `first` sweeps over the weights."""
    values, ref = problem.values, problem.reference
    power = (values**2).mean(axis=0)
    floor = 1e-7 * np.maximum(power, 1e-12)
    for step in range(steps):
        given = problem.signed(fit)
        centre = given.mean(axis=0)
        scale = 1 / np.sqrt(fit.noise + 1e-4 * np.median(fit.noise))
        scale /= scale.mean()
        if not problem.fixed_weights:
            fit.weights = simplex(
                (given - centre) * scale,
                (fit.vectors - centre) * scale,
                fit.weights,
                sweeps=first if step == 0 else 3,
                k=problem.k if sparse else None,
                total=problem.total,
            )
        fit.vectors = _solve(fit.weights, given, centre, fit.noise, ref)
        model = fit.model
        fit.noise = np.maximum(power + (model**2 - 2 * given * model).mean(axis=0), floor)
        if fit.signs is not None:
            fit.signs = problem.votes(values * model / fit.noise)
    left = problem.residual(fit)
    fit.error = float((left**2 / ref.var).mean())


def _solve(weights: Floats, given: Floats, centre: Floats, noise: Floats, ref: ReferenceStatistics) -> Floats:
    """Vectors given the weights: per coordinate a ridge of noise / variance towards the centre.

    One eigendecomposition serves all coordinates. Vectors stay within the distance from the mean that real ones
    have: a vector that few encodings use would otherwise run away along their noise.
    """
    gram = (weights.T @ weights).astype(np.float64)
    values, basis = np.linalg.eigh(gram)
    # Relative to the largest: an unused vector has a zero row, and is to stay at the centre.
    ridge = np.maximum(noise / ref.var, 1e-8 * values[-1])
    right = basis.T @ (weights.T @ given - gram.sum(axis=1, keepdims=True) * centre)
    offset = basis @ (right / (np.maximum(values, 0)[:, None] + ridge))
    far = np.sqrt((offset**2 / ref.var).sum(axis=1, keepdims=True))
    bounded: Floats = (centre + offset * np.minimum(1, ref.radius / np.maximum(far, 1e-12))).astype(np.float32)
    return bounded


def synchronise(problem: Problem, fit: Fit) -> int:
    """All signs of a coordinate at once; returns the number of coordinates that changed.

    y² minus the squares of its parts is a sum over pairs of examples of 2·λₐλᵦ·xₐxᵦ, whose signs say which
    examples agree in this coordinate: the top eigenvector of that table is the best assignment, up to one sign.
    """
    weights = np.where(fit.weights > MEMBER, fit.weights, 0).astype(np.float32)
    n, r = weights.shape
    cross = problem.values**2 - (weights**2) @ (fit.vectors**2)
    pairs = _pairs(csr_matrix(weights), n, r)
    table = np.asarray((pairs @ cross).T).reshape(-1, r, r)
    sizes = np.abs(fit.vectors.T)
    table = (table + table.transpose(0, 2, 1)) * sizes[:, :, None] * sizes[:, None, :]
    norm = np.sqrt(np.sqrt((table**2).sum(axis=2)) + 1e-20)
    _, basis = np.linalg.eigh((table / (norm[:, :, None] * norm[:, None, :])).astype(np.float64))
    signs = np.where(basis[:, :, -1] < 0, -1.0, 1.0)
    now = np.where(fit.vectors.T < 0, -1.0, 1.0)
    signs *= np.where((signs * now).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)

    def energy(s: Floats) -> Floats:
        value: Floats = np.einsum("ja,jab,jb->j", s, table, s)
        return value

    better = energy(signs) > energy(now)
    fit.vectors = (np.where(better[:, None], signs, now) * sizes).T.astype(np.float32)
    return int((better & (signs != now).any(axis=1)).sum())


def _pairs(weights: csr_matrix, n: int, r: int) -> csr_matrix:
    """Row a·r + b, column i: λᵢₐ·λᵢᵦ for a < b. Its size is n·k²/2: it does not grow with pairs of encodings."""
    rows: list[Ints] = []
    columns: list[Ints] = []
    products: list[Floats] = []
    count = np.diff(weights.indptr)
    for size in np.unique(count[count > 1]):
        mine = np.flatnonzero(count == size)
        at = weights.indptr[mine][:, None] + np.arange(size)
        who, share = np.sort(weights.indices[at], axis=1), weights.data[at]
        share = np.take_along_axis(share, np.argsort(weights.indices[at], axis=1), axis=1)
        a, b = np.triu_indices(size, 1)
        rows.append((who[:, a].astype(np.int64) * r + who[:, b]).ravel())
        columns.append(np.repeat(mine, len(a)))
        products.append((share[:, a] * share[:, b]).ravel())
    if not rows:
        return csr_matrix(np.zeros((r * r, n), dtype=np.float32))
    index = (np.concatenate(rows), np.concatenate(columns))
    return csr_matrix((np.concatenate(products), index), shape=(r * r, n))


def flip(problem: Problem, fit: Fit, sweeps: int = 3) -> int:
    """Turn single signs of single vectors wherever the magnitudes then fit better; returns how many turned."""
    magnitudes = np.abs(problem.values)
    model = fit.model
    weights = csc_matrix(np.where(fit.weights > MEMBER / 2, fit.weights, 0))
    turned = 0
    for _ in range(sweeps):
        before = turned
        for a in range(len(fit.vectors)):
            mine = slice(weights.indptr[a], weights.indptr[a + 1])
            rows = weights.indices[mine]
            change = 2 * np.outer(weights.data[mine], fit.vectors[a])
            old, seen = model[rows], magnitudes[rows]
            gain = ((seen - np.abs(old)) ** 2 - (seen - np.abs(old - change)) ** 2).sum(axis=0)
            better = gain > 0
            if better.any():
                model[rows] = old - change * better
                fit.vectors[a] = np.where(better, -fit.vectors[a], fit.vectors[a])
                turned += int(better.sum())
        if turned == before:
            break
    fit.noise = np.maximum(((magnitudes - np.abs(model)) ** 2).mean(axis=0), 1e-7 * (magnitudes**2).mean(axis=0))
    # Twice the noise: the flips were chosen to fit, so what they leave understates the doubt.
    fit.signs = problem.votes(problem.values * model / (2 * np.maximum(fit.noise, 1e-20)))
    return turned


def respawn(problem: Problem, fit: Fit, skip: int = 0) -> int:
    """Move vectors that explain little, or the same as another, to what is unexplained; returns how many moved.

    Every example enters equally many mixes, so a vector with half its share is a splinter, and two alike that share
    one example's place are twins. A vector with twice its share is split with one of those; else the new
    place is an encoding with a long residual in a direction that others share.
    """
    r = fit.weights.shape[1]
    share = fit.weights.sum(axis=0) / max(float(fit.weights.sum()) / r, 1e-12)
    deviation = np.sqrt(problem.reference.var)
    shape = np.abs(fit.vectors) if problem.masked else fit.vectors
    shape = unit((shape - shape.mean(axis=0)) / deviation)
    alike = np.triu(shape @ shape.T, 1)
    moved: set[int] = set()
    kept: set[int] = set()
    for a, b in zip(*np.nonzero(alike > 0.5), strict=True):
        if not {int(a), int(b)} & moved and share[a] + share[b] < 1.4:
            moved.add(int(a if share[a] < share[b] else b))
            kept.add(int(b if share[a] < share[b] else a))  # it takes over what its twin had
    moved |= set(np.flatnonzero(share < 0.5).tolist()) - kept
    left = (problem.residual(fit) / deviation).astype(np.float32)
    # A vector with more than its share stands in for several examples: look first where it is used.
    crowded = 0.2 + fit.weights @ (share > 1.3).astype(np.float32)
    model = fit.model
    doubled = [int(c) for c in np.argsort(-share, kind="stable") if share[c] > 1.6 and int(c) not in moved]
    for b in sorted(moved):
        fit.weights[:, b] = 0
        if doubled:
            _split(problem, fit, model, doubled.pop(0), b, skip)
            continue
        size = (left**2).sum(axis=1)
        places = np.argsort(-size * crowded, kind="stable")[:300]
        towards = unit(left[places])
        # What others share of its direction, times its own length: not an outlier, and as pure as can be.
        common = ((np.maximum(left @ towards.T, 0) ** 2).sum(axis=0) - size[places]) * size[places]
        pick = int(np.argsort(-common, kind="stable")[min(skip, len(places) - 1)])
        row = problem.values[places[pick]]
        fit.vectors[b] = np.copysign(np.abs(row), model[places[pick]]) if problem.masked else row
        left -= np.maximum(left @ towards[pick], 0)[:, None] * towards[pick]
    if moved:
        fit.noise = fit.noise * 2
    return len(moved)


def _split(problem: Problem, fit: Fit, model: Floats, crowded: int, spare: int, skip: int) -> None:
    """Two examples behind one vector, alike enough to have been merged: give each its purest encoding.

    Among the encodings that the vector dominates, the two ends of the direction in which they differ most.
    """
    top = np.argsort(-fit.weights[:, crowded], kind="stable")[: 20 + 4 * skip]
    sizes = (np.abs(problem.values[top]) if problem.masked else problem.values[top]) / np.sqrt(problem.reference.var)
    sizes = sizes - sizes.mean(axis=0)
    _, basis = np.linalg.eigh(sizes @ sizes.T)
    for vector, row in ((crowded, top[basis[:, -1].argmin()]), (spare, top[basis[:, -1].argmax()])):
        seen = problem.values[row]
        fit.vectors[vector] = np.copysign(np.abs(seen), model[row]) if problem.masked else seen
    fit.weights[:, crowded] /= 2
    fit.weights[:, spare] = fit.weights[:, crowded]
