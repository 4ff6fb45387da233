"""Stage 2 of xie-hong: do two encodings share an example?

Two answers: the cosine of standardised magnitudes, and a network trained on shadow encodings that the attacker makes
from public sentences. The paper's network reads both vectors stacked; its first layer is W·[a; b] = U·a + V·b, so
with U = V it is symmetric and splits into one product per encoding and one addition per pair. All pairs are then
scored in blocks, without one of the 2·d-wide inputs ever being built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bench import Floats, Ints
from bench.toolkit.search import unit

# Scores made at a time: with 32 hidden units a block of 64 × 512 pairs is 4 MiB, which stays in the cache.
ROWS, COLUMNS = 64, 512
HIDDEN = 32
# The paper's 0.01 is for a network that starts at random; this one starts at the cosine and would be thrown off.
RATE = 1e-3


def features(values: Floats, masked: bool) -> Floats:
    """Magnitudes (or the values themselves where no mask hides them), each coordinate standardised."""
    return standardised(np.abs(values) if masked else values).astype(np.float32)


def standardised(values: Floats) -> Floats:
    """Each column minus its mean, in units of its spread."""
    out: Floats = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-12)
    return out


class PairScores(Protocol):
    """Scores for any two sets of encodings, from parts computed once for each encoding."""

    def block(self, a: Ints | slice, b: Ints | slice) -> Floats: ...

    def __len__(self) -> int: ...


class Cosine:
    def __init__(self, feats: Floats):
        self._unit = unit(feats)

    def __len__(self) -> int:
        return len(self._unit)

    def block(self, a: Ints | slice, b: Ints | slice) -> Floats:
        scores: Floats = self._unit[a] @ self._unit[b].T
        return scores


class Network:
    """logit(a, b) = P·a ⋅ P·b + s(a) + s(b) + w ⋅ relu(U·a + U·b + c): symmetric, first layer factored.

    P starts as the identity, so training starts from the cosine and improves on it; from a random start it ends
    below it, because a few thousand public sentences do not teach a whole metric.
    """

    def __init__(self, dim: int, seed: int, device: str = "cpu"):
        import torch

        self.device = device
        made = torch.Generator().manual_seed(seed)
        self.parameters = {
            "shared": torch.eye(dim) / dim**0.5,
            "hidden": torch.randn(dim, HIDDEN, generator=made) / dim**0.5,
            "bias": torch.zeros(HIDDEN),
            "out": torch.zeros(HIDDEN),
            "own": torch.zeros(dim),
            "offset": torch.zeros(1),
        }
        # Drawn on the CPU, so that the numbers are the same everywhere.
        self.parameters = {n: v.to(device).requires_grad_(True) for n, v in self.parameters.items()}

    def parts(self, feats: Floats) -> tuple[Any, Any, Any]:
        """All that a pair needs to know of each encoding."""
        import torch

        p = self.parameters
        x = torch.as_tensor(unit(feats) * np.float32(feats.shape[1] ** 0.5), device=self.device)
        return x @ p["shared"], x @ p["hidden"] + p["bias"] / 2, x @ p["own"] + p["offset"] / 2

    def pairs(self, a: tuple[Any, Any, Any], b: tuple[Any, Any, Any]) -> Any:
        hidden = (a[1][:, None] + b[1][None]).relu()
        return a[0] @ b[0].T + a[2][:, None] + b[2] + hidden @ self.parameters["out"]

    def on(self, feats: Floats) -> Scored:
        import torch

        with torch.no_grad():
            shared, hidden, own = self.parts(feats)
            return Scored(shared, hidden, own, self.parameters["out"].detach())


@dataclass
class Scored:
    """A network's parts for a set of encodings."""

    shared: Any
    hidden: Any
    own: Any
    out: Any

    def __len__(self) -> int:
        return len(self.own)

    def block(self, a: Ints | slice, b: Ints | slice) -> Floats:
        import torch

        with torch.no_grad():
            scores = self.shared[a] @ self.shared[b].T
            scores += self.own[a][:, None]
            scores += self.own[b]
            left, right = self.hidden[a], self.hidden[b]
            for i in range(0, len(left), ROWS):
                for j in range(0, len(right), COLUMNS):
                    hidden = (left[i : i + ROWS, None] + right[None, j : j + COLUMNS]).relu_()
                    scores[i : i + ROWS, j : j + COLUMNS] += hidden @ self.out
        block: Floats = scores.cpu().numpy()
        return block


@dataclass(frozen=True)
class Shadow:
    """One shadow client: features of its encodings, and which of its sentences each of them mixes (-1: public)."""

    feats: Floats
    members: Ints

    def shared(self, rows: Ints) -> npt.NDArray[np.bool_]:
        """len(rows)²: which pairs share an example."""
        table = np.zeros((len(rows), int(self.members.max()) + 2), dtype=np.float32)
        np.put_along_axis(table, self.members[rows] + 1, 1.0, axis=1)
        table[:, 0] = 0
        same: npt.NDArray[np.bool_] = table @ table.T > 0
        return same


def train(
    shadows: Sequence[Shadow], rng: np.random.Generator, *, steps: int = 400, batch: int = 384, device: str = "cpu"
) -> Network:
    """Adam on the cross-entropy of all pairs within a batch, both answers weighing the same."""
    import torch

    # Small products again: one thread, because two wait for each other whenever the machine has other work.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _train(shadows, rng, steps, batch, device)
    finally:
        torch.set_num_threads(threads)


def _train(shadows: Sequence[Shadow], rng: np.random.Generator, steps: int, batch: int, device: str) -> Network:
    import torch

    net = Network(shadows[0].feats.shape[1], int(rng.integers(1 << 31)), device)
    optimiser = torch.optim.Adam(list(net.parameters.values()), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for step in range(steps):
        shadow = shadows[step % len(shadows)]
        rows = rng.choice(len(shadow.feats), min(batch, len(shadow.feats)), replace=False)
        above = np.triu_indices(len(rows), 1)
        same = torch.as_tensor(shadow.shared(rows)[above], device=device)
        parts = net.parts(shadow.feats[rows])
        logits = net.pairs(parts, parts)[above]
        weigh = (~same).sum() / same.sum().clamp(min=1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, same.float(), pos_weight=weigh)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    return net


def quality(scores: Floats, same: npt.NDArray[np.bool_], threshold: float | None = None) -> tuple[float, float]:
    """(AUC, accuracy with both answers weighing the same) of scores for pairs."""
    above = np.triu_indices(len(same), 1)
    value, truth = scores[above], same[above]
    if truth.all() or not truth.any():
        return float("nan"), float("nan")
    from scipy.stats import rankdata

    ranks, hits = rankdata(value), int(truth.sum())
    auc = (ranks[truth].sum() - hits * (hits + 1) / 2) / (hits * (len(truth) - hits))
    cut = float(np.median(value)) if threshold is None else threshold
    accuracy = ((value[truth] > cut).mean() + (value[~truth] <= cut).mean()) / 2
    return float(auc), float(accuracy)


def blocks(similarity: PairScores, rows: int = 256) -> Iterator[tuple[slice, Floats]]:
    """All pairs, `rows` encodings against everybody at a time: memory grows with n, never with n²."""
    for at in range(0, len(similarity), rows):
        here = slice(at, min(at + rows, len(similarity)))
        yield here, similarity.block(here, slice(0, len(similarity)))
