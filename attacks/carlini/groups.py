"""From similar pairs to pictures: cliques that recur, and which encoding holds which of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench import Floats, Ints

Bools = npt.NDArray[np.bool_]
# Two cliques are of one picture if they share this many of their encodings.
OVERLAP = 0.5
# A picture is what so many cliques agree on.
RECUR = 2
# On the covariance of features of length 1.
RIDGE = 1e-4
# Pictures that each encoding may be assigned, the most similar ones: bounds the linear programme at n × MOST.
MOST = 12


def recurring(features: Floats, cliques: int, size: int, rng: np.random.Generator) -> list[Ints]:
    """Grown from encodings at random by what is most similar to all members so far; those that were found more than
    once, each as the encodings that most of its cliques share, the most frequent first."""
    import networkx as nx
    from scipy.sparse import csr_matrix

    n = len(features)
    size = min(size, n)
    cliques = min(cliques, n)
    grown = rng.permutation(n)[:cliques][:, None]
    centre = features[grown[:, 0]].copy()
    taken = np.zeros((cliques, n), dtype=bool)  # 1,000 × 5,000 bytes are 5 MiB
    taken[np.arange(cliques), grown[:, 0]] = True
    for _ in range(size - 1):
        near = centre @ features.T
        near[taken] = -np.inf
        chosen = near.argmax(axis=1)
        taken[np.arange(cliques), chosen] = True
        centre += features[chosen]
    holds = csr_matrix(taken.astype(np.float32))
    common = (holds @ holds.T).toarray()
    graph = nx.from_numpy_array(np.triu(common >= OVERLAP * size, 1))
    parts = sorted((sorted(part) for part in nx.connected_components(graph)), key=lambda part: (-len(part), part))
    kept = [part for part in parts if len(part) >= RECUR] or parts[:1]
    votes = (taken[part].sum(axis=0) for part in kept)
    return [np.sort(np.argsort(-vote, kind="stable")[:size]) for vote in votes]


def classes_of(groups: list[Ints], labels: Floats) -> Ints:
    """The class that weighs most in the labels of each group: all its encodings hold it."""
    found: Ints = np.array([labels[rows].mean(axis=0).argmax() for rows in groups])
    return found


def scores(features: Floats, groups: list[Ints]) -> Floats:
    """n × groups: how similar each encoding is to the middle of each group, along what tells groups apart (Fisher)."""
    centred = features - features.mean(axis=0)
    centres = np.stack([centred[rows].mean(axis=0) for rows in groups])
    spread = centred.T @ centred / len(centred) + RIDGE * np.eye(features.shape[1], dtype=np.float32)
    along = np.linalg.solve(spread, centres.T)
    length = np.sqrt(np.maximum(np.einsum("ij,ji->i", centres, along), 1e-12))
    found: Floats = (centred @ (along / length)).astype(np.float32)
    return found


def allowed(labels: Floats, classes: Ints) -> Bools:
    """An encoding can hold a picture only if its label has the picture's class."""
    held: Bools = labels[:, classes] > 0
    return held


def assign(scores: Floats, allowed: Bools, private: int) -> Bools:
    """The most similar assignment with at most `private` pictures in an encoding, and each picture in its share of all
    encodings at most: a flow, whose linear programme has integers for a solution."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, vstack

    n, count = scores.shape
    worth = np.where(allowed, scores, -np.inf)
    near = np.argsort(-worth, axis=1, kind="stable")[:, :MOST]
    row, column = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    there = allowed[row, column]
    row, column = row[there], column[there]
    held = np.zeros(scores.shape, dtype=bool)
    if not len(row):
        return held
    ones, place = np.ones(len(row)), np.arange(len(row))
    limits = vstack(
        [csr_matrix((ones, (row, place)), (n, len(row))), csr_matrix((ones, (column, place)), (count, len(row)))]
    )
    most = np.concatenate([np.full(n, private), np.full(count, -(-n * private // count))])
    value = scores[row, column].astype(np.float64)
    value -= value.min() - 1e-3  # rather a picture than none
    # The stubs know no sparse limits.
    done = linprog(-value, A_ub=limits, b_ub=most, bounds=(0, 1), method="highs")  # type: ignore[call-overload]
    if done.x is not None:
        some = done.x > 0.5
        held[row[some], column[some]] = True
    return held


def weights_of(member: Bools, labels: Floats, classes: Ints) -> Floats:
    """What the label gives a class, in equal parts to its pictures in the encoding."""
    same = (classes[:, None] == classes).astype(np.float32)
    sharing = member.astype(np.float32) @ same
    found: Floats = np.where(member, labels[:, classes] / np.maximum(sharing, 1), 0).astype(np.float32)
    return found
