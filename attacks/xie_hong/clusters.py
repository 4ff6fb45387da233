"""Stage 3 of xie-hong: one cluster of encodings for each private example; an encoding lies in up to k of them.

`vertices` needs no pairs at all: mixes lie in a simplex whose corners are the examples, and with half-normal weights
some encodings come close to each corner, so successive projection picks them out. The others make clusters from
pairwise scores or by k-means, as the paper does, and offer their purest members as corners.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench import Floats, Ints
from bench.attacks.xie_hong.similarity import PairScores, blocks, standardised

Members = npt.NDArray[np.bool_]
CORE = 32


def vertices(points: Floats, r: int) -> Ints:
    """Rows near the corners of the simplex that `points` lie in: the farthest, and again after projecting it out."""
    centred = points - points.mean(axis=0)
    dims = min(max(r - 1, 1), *centred.shape)
    # The corners span r - 1 dimensions; the rest is what wrong signs and noise add.
    _, basis = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    left = centred @ basis[:, ::-1][:, :dims].astype(np.float32)
    picked: list[int] = []
    open_ = np.ones(len(left), dtype=bool)
    for _ in range(min(r, len(left))):
        size = np.where(open_, (left**2).sum(axis=1), -1)
        i = int(size.argmax())
        picked.append(i)
        open_[i] = False
        if size[i] > 0:
            way = left[i] / np.sqrt(size[i])
            left = left - np.outer(left @ way, way)
    return np.array(picked, dtype=np.int64)


def greedy(similarity: PairScores, r: int, size: int) -> Floats:
    """The paper's growth: from a seed, always add whoever is most similar to the members on average.

    Returns n × r average scores. Seeds are the encodings with the closest neighbours, which are the purest, outside
    the inner half of the clusters there are. Only a core is grown one doubling at a time: averages over 32 members
    no longer change the order, and every further member would cost another n scores.
    """
    n = len(similarity)
    reach = min(20, n)
    density = np.empty(n, dtype=np.float32)
    for here, scores in blocks(similarity):
        density[here] = -np.partition(-scores, reach - 1, axis=1)[:, :reach].mean(axis=1)
    free = np.ones(n, dtype=bool)
    averages = np.empty((n, r), dtype=np.float32)
    for c in range(r):
        if not free.any():
            free[:] = True
        core = np.array([int(np.where(free, density, -np.inf).argmax())])
        total = similarity.block(slice(0, n), core).sum(axis=1)
        while len(core) < min(CORE, size):
            ranked = np.argsort(-total, kind="stable")
            new = ranked[~np.isin(ranked, core)][: min(len(core), min(CORE, size) - len(core))]
            core = np.concatenate([core, new])
            total = total + similarity.block(slice(0, n), new).sum(axis=1)
        averages[:, c] = total / len(core)
        free[np.argsort(-total, kind="stable")[: max(1, size // 2)]] = False
        free[core] = False
    return averages


def kmeans(feats: Floats, r: int, seed: int) -> Floats:
    """n × r scores: the projection on each centre of k-means over the leading components."""
    from sklearn.cluster import KMeans

    dims = min(max(r - 1, 1), *feats.shape)
    _, basis = np.linalg.eigh((feats.T @ feats).astype(np.float64))
    points = feats @ basis[:, ::-1][:, :dims].astype(np.float32)
    centres = KMeans(r, n_init=1, max_iter=50, random_state=seed).fit(points).cluster_centers_
    scores: Floats = points @ (centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)).T
    return scores.astype(np.float32)


def largest(scores: Floats, size: int, k: int) -> Members:
    """Each cluster takes its `size` best; an encoding stays in its k best at most."""
    n, r = scores.shape
    taken = np.zeros((n, r), dtype=bool)
    best = np.argpartition(-scores, min(size, n) - 1, axis=0)[: min(size, n)]
    np.put_along_axis(taken, best, True, axis=0)
    # Clusters of pure encodings score higher throughout: compare each score with its own cluster's.
    return _at_most(np.where(taken, standardised(scores), -np.inf), k)


def balanced(scores: Floats, size: int, k: int, steps: int = 200) -> Members:
    """b-matching by prices: each encoding takes its k best clusters, and a cluster that more than `size` want
    gets dearer until the market clears. The dual of the assignment, n·r work a step instead of a flow network."""
    worth = standardised(scores)
    price = np.zeros(scores.shape[1], dtype=np.float32)
    k = min(k, scores.shape[1])
    for step in range(steps):
        demand = _at_most(worth - price, k).sum(axis=0)
        price += (0.5 / (1 + step / 20)) * (demand / max(size, 1) - 1).astype(np.float32)
    return _at_most(worth - price, k)


def _at_most(worth: Floats, k: int) -> Members:
    k = min(k, worth.shape[1])
    border = np.partition(worth, -k, axis=1)[:, -k][:, None]
    inside: Members = (worth >= border) & np.isfinite(worth)
    return inside


def purest(feats: Floats, members: Members) -> Ints:
    """The member of each cluster that goes farthest in the cluster's direction: the least mixed one."""
    inside = members.astype(np.float32)
    centres = (inside.T @ feats) / np.maximum(inside.sum(axis=0), 1)[:, None]
    along = feats @ (centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)).T
    picked: Ints = np.where(members, along, -np.inf).argmax(axis=0).astype(np.int64)
    return picked
