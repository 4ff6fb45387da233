"""A small U-Net that guesses the signs of a masked picture from its magnitudes, trained on encodings of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bench import Floats, View
from bench.training.frozen import one_thread

WIDTHS = (24, 48, 96)
BATCH, RATE = 64, 2e-3
# Encodings answered at a time.
BLOCK = 256
# Encodings of one's own, not trained on, that the share of right signs is counted on.
HELD = 256


@dataclass(frozen=True)
class Signs:
    """From magnitudes to signs."""

    net: Any
    shape: tuple[int, int, int]
    right: float
    """share of signs that are right, on held-out encodings of the attacker's own"""
    undone: float
    """share of the negative values among them whose sign is found"""

    def __call__(self, magnitudes: Floats) -> Floats:
        """Magnitudes with the signs that are more likely."""
        return magnitudes * _signs(self.net, magnitudes, self.shape)


def shadow(view: View, vectors: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Encodings of one's own: their magnitudes, and the mixes below the mask."""
    release, key = view.defense.release(vectors, np.zeros((len(vectors), 1), np.float32), rng)
    encodings: Floats = np.asarray(release.encodings)
    mixes = encodings if key.mask is None else encodings * key.pool[key.mask]
    return np.abs(encodings), mixes


def train(
    make: Callable[[Floats], tuple[Floats, Floats]],
    public: Floats,
    shape: tuple[int, int, int],
    rng: np.random.Generator,
    *,
    steps: int,
    stage: Callable[[str], None] = lambda text: None,
) -> Signs:
    """Cross-entropy of each pixel's sign. `make`: pictures → magnitudes of their encodings, and the mixes."""
    import torch

    held = rng.permutation(len(public))
    rest, held = held[len(held) // 5 :], held[: min(HELD, max(1, len(held) // 5))]
    torch.manual_seed(int(rng.integers(1 << 31)))
    net = _network(shape[0])
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1)
    with one_thread("cpu"):
        for step in range(steps):
            if step % 20 == 0:
                stage(f"network for signs, step {step} of {steps}")
            magnitudes, mixes = make(public[rng.choice(rest, min(BATCH, len(rest)), replace=False)])
            answer = net(torch.as_tensor(magnitudes).reshape(-1, *shape))
            positive = torch.as_tensor(mixes > 0, dtype=torch.float32).reshape(-1, *shape)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(answer, positive)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
        net.eval()
        magnitudes, mixes = make(public[held])
        found = _signs(net, magnitudes, shape)
    right = found == np.where(mixes < 0, np.float32(-1), np.float32(1))
    return Signs(net, shape, float(right.mean()), float(right[mixes < 0].mean()) if (mixes < 0).any() else 1.0)


def _signs(net: Any, magnitudes: Floats, shape: tuple[int, int, int]) -> Floats:
    import torch

    found: Floats = np.empty_like(magnitudes)
    with torch.inference_mode(), one_thread("cpu"):
        for at in range(0, len(magnitudes), BLOCK):
            some = torch.as_tensor(magnitudes[at : at + BLOCK]).reshape(-1, *shape)
            found[at : at + BLOCK] = np.where(net(some).flatten(1).numpy() < 0, np.float32(-1), np.float32(1))
    return found


def _network(channels: int) -> Any:
    import torch
    from torch import nn

    def block(before: int, after: int) -> nn.Sequential:
        return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = (channels, *WIDTHS)
            self.down = nn.ModuleList(block(a, b) for a, b in pairwise(sizes))
            self.up = nn.ModuleList(block(a + b, b) for a, b in pairwise(WIDTHS[::-1]))
            self.out = nn.Conv2d(WIDTHS[0], channels, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            kept = []
            for i, layer in enumerate(self.down):
                x = layer(nn.functional.max_pool2d(x, 2) if i else x)
                kept.append(x)
            for layer, beside in zip(self.up, kept[-2::-1], strict=True):
                x = layer(torch.cat([nn.functional.interpolate(x, size=beside.shape[2:]), beside], dim=1))
            answer: torch.Tensor = self.out(x)
            return answer

    return UNet()
