"""Stage 4 of xie-hong: the share of each example in each encoding.

Rows lie on the simplex and hold at most k examples. Non-negative least squares by coordinate descent over examples,
for all encodings at once: r passes over an r × n table, no inner solver, and a warm start costs next to nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bench import Floats


def simplex(
    targets: Floats,
    vectors: Floats,
    start: Floats,
    *,
    sweeps: int = 3,
    k: int | None = None,
    total: float = 1.0,
) -> Floats:
    """n × r weights that make `targets` of `vectors`, both centred; rows sum to 1 as strongly as `total` says.

    With `k`, only the k largest weights of each row stay, solved again without the others. That is what fixes the
    scale: any larger simplex explains the same encodings, but not with k of its corners.
    """
    gram = vectors @ vectors.T
    pull = total * float(np.trace(gram)) / max(len(gram), 1)
    gram = gram + np.float32(pull)
    cross = np.ascontiguousarray((targets @ vectors.T + np.float32(pull)).T)
    weights = np.ascontiguousarray(start.T, dtype=np.float32)
    diagonal = np.maximum(np.diag(gram), 1e-12)
    _descend(weights, gram, cross, diagonal, sweeps)
    if k is not None and k < len(vectors):
        _descend(weights, gram, cross, diagonal, 2, largest(weights.T, k).T)
    return np.ascontiguousarray(weights.T)


def _descend(
    weights: Floats,
    gram: Floats,
    cross: Floats,
    diagonal: Floats,
    sweeps: int,
    keep: npt.NDArray[np.bool_] | None = None,
) -> None:
    if keep is not None:
        weights *= keep
    for _ in range(sweeps):
        for j in range(len(gram)):
            step = weights[j] + (cross[j] - gram[j] @ weights) / diagonal[j]
            np.maximum(step, 0, out=step)
            weights[j] = step if keep is None else step * keep[j]


def largest(weights: Floats, k: int) -> npt.NDArray[np.bool_]:
    """Which entries are among the k largest of their row, and positive."""
    border = np.partition(weights, -k, axis=1)[:, -k][:, None]
    keep: npt.NDArray[np.bool_] = (weights >= border) & (weights > 0)
    return keep


def from_labels(members: Floats, labels: Floats) -> Floats:
    """The paper's weights: what the mixed labels say, split evenly where members share a class.

    `members` is n × r, above zero where an encoding belongs to a cluster. The class of an example is the one that
    its encodings favour beyond what the release favours as a whole.
    """
    belongs = members > 0
    surplus = labels - labels.mean(axis=0)
    lean = (belongs.T.astype(np.float32) @ surplus) / np.maximum(belongs.sum(axis=0), 1)[:, None]
    kind = lean.argmax(axis=1)
    weights = np.zeros_like(members)
    for c in range(labels.shape[1]):
        inside = belongs & (kind == c)
        weights += inside * (labels[:, c : c + 1] / np.maximum(inside.sum(axis=1, keepdims=True), 1))
    # An encoding whose label names a class that none of its members has: nothing is known, all members count alike.
    lost = weights.sum(axis=1) <= 0
    weights[lost] = belongs[lost]
    shares: Floats = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    return shares
