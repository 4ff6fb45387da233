"""Pictures that explain the magnitudes, by descent; then the signs that magnitudes leave open."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench import Floats
from bench.attacks.common.pixels import last_sign
from bench.attacks.unmix_pictures.clusters import CHANNELS, distance_kernel
from bench.attacks.unmix_pictures.differences import Shape
from bench.training.frozen import one_thread

# Adam's rate, and what large values are worth, both as published.
RATE, LARGE = 0.01, 0.05
# Of the start: how far evidence of one pixel counts for its neighbours, and the share that it has for other channels.
REACH, OTHERS = 1.0, 0.3
RIDGE = 1e-3
# Pixels whose tables of pictures × pictures are held at a time: 256 × 100 × 100 doubles are 20 MiB.
BLOCK = 256
# Normalised pixels divided by this lie in about [-1, 1], where the published numbers belong.
SPAN = 2.5


def fit(
    magnitudes: Floats,
    weights: Floats,
    shape: Shape,
    *,
    steps: int,
    stage: Callable[[str], None] = lambda text: None,
) -> Floats:
    """Pictures x with |Σ λ x| near the magnitudes: the residual is the smaller of |y| − m and −(|y| + m)."""
    import torch

    stage("where descent starts")
    start = first(magnitudes, weights, shape) / np.float32(SPAN)
    with one_thread("cpu"):
        mixing, target = torch.as_tensor(weights), torch.as_tensor(magnitudes / np.float32(SPAN))
        pictures = torch.tensor(start, requires_grad=True)
        optimizer = torch.optim.Adam([pictures], lr=RATE)
        for step in range(steps):
            if step % 20 == 0:
                stage(f"descent, step {step} of {steps}")
            gap = target - (mixing @ pictures).abs()
            loss = gap.square().mean() + LARGE * (1 - pictures.abs()).clamp(min=0).mean() / len(weights)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    found: Floats = np.float32(SPAN) * pictures.detach().numpy()
    return found


def first(magnitudes: Floats, weights: Floats, shape: Shape) -> Floats:
    """Squares by least squares, y² = Σ λ²x² and a constant for what is unknown. What they leave of an encoding is
    2·λ·μ·x·z: of each pixel, the leading eigenvector of these products has the signs, up to one for all pictures."""
    from scipy.ndimage import gaussian_filter
    from scipy.sparse import csr_matrix, vstack

    squares = np.square(magnitudes)
    design = np.concatenate([np.square(weights), np.ones((len(weights), 1), np.float32)], axis=1)
    gram = design.T @ design + RIDGE * np.eye(design.shape[1], dtype=np.float32)
    power = np.linalg.solve(gram, design.T @ squares).astype(np.float32)
    left = (squares - design @ power).reshape(-1, *shape)
    left = gaussian_filter(left, (0, 0, REACH, REACH), mode="nearest")
    left = ((1 - OTHERS) * left + OTHERS * left.mean(axis=1, keepdims=True)).reshape(len(weights), -1)
    size = np.sqrt(np.maximum(power[:-1], 0))
    count = weights.shape[1]
    parts = [weights[at : at + BLOCK] for at in range(0, len(weights), BLOCK)]
    pairs = vstack([csr_matrix((w[:, :, None] * w[:, None, :]).reshape(len(w), -1)) for w in parts]).T.tocsr()
    signs = np.empty_like(size)
    for at in range(0, size.shape[1], BLOCK):
        some = slice(at, at + BLOCK)
        tables = (pairs @ left[:, some]).T.reshape(-1, count, count)
        tables[:, np.arange(count), np.arange(count)] = 0
        signs[:, some] = np.where(np.linalg.eigh(tables)[1][:, :, -1] < 0, -1, 1).T
    found: Floats = (signs * size).astype(np.float32)
    return found


def coloured(pictures: Floats, public: Floats, shape: Shape) -> Floats:
    """Magnitudes say nothing of the sign of a pixel in all pictures together. Neighbours go together over pictures, so
    that signs come from the leading eigenvector of their correlations; the last sign from the mean public picture."""
    from scipy.sparse.linalg import eigsh

    unit = pictures / (np.linalg.norm(pictures, axis=0) + 1e-12)
    near = np.kron(np.where(np.eye(shape[0], dtype=bool), 1.0, CHANNELS), distance_kernel(shape))
    _, vectors = eigsh((unit.T @ unit) * near, k=1, v0=np.ones(len(near)))
    found = pictures * np.where(vectors[:, 0] < 0, np.float32(-1), np.float32(1))
    coloured: Floats = found * last_sign(found, public)
    return coloured
