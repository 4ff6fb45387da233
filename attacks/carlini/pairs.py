"""Do two encodings share a picture? A small network, trained on encodings that the attacker makes of public pictures.

The published network reads both encodings at once and is asked for every pair. This one reads each encoding once, and
a pair is the cosine of what comes out: 5,000 runs of a network in place of 12.5 million.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import Floats, View
from bench.attacks.unmix_pictures.differences import Shape
from bench.training.frozen import one_thread

# Encodings in a training step, of so many pictures.
ENCODINGS, PICTURES = 256, 64
WIDTHS, FEATURES = (32, 64), 256
RATE, SHARPNESS = 2e-3, 10.0
# Encodings embedded at a time.
BLOCK = 500

Bools = npt.NDArray[np.bool_]
# Vectors, epochs → magnitudes of encodings, and which of them share a picture.
Shadow = Callable[[Floats, int], tuple[Floats, Bools]]


@dataclass(frozen=True)
class Embedding:
    net: Any
    mean: float
    spread: float
    shape: Shape

    def __call__(self, magnitudes: Floats) -> Any:
        import torch

        x = torch.as_tensor((magnitudes - self.mean) / self.spread).reshape(-1, *self.shape)
        # Magnitudes of differences beside the magnitudes: what so small a net would learn first.
        edge = torch.nn.functional.pad(x, (0, 1, 0, 1), mode="replicate")
        x = torch.cat([x, (edge[:, :, 1:, :-1] - x).abs(), (edge[:, :, :-1, 1:] - x).abs()], dim=1)
        return torch.nn.functional.normalize(self.net(x), dim=1)

    def embed(self, magnitudes: Floats) -> Floats:
        """n × FEATURES, rows of length 1"""
        import torch

        self.net.eval()
        with torch.inference_mode(), one_thread("cpu"):
            parts = [self(magnitudes[at : at + BLOCK]).numpy() for at in range(0, len(magnitudes), BLOCK)]
        found: Floats = np.nan_to_num(np.concatenate(parts))
        return found


def shadow(view: View, vectors: Floats, epochs: int, rng: np.random.Generator) -> tuple[Floats, Bools]:
    """Encodings of the attacker's own, by the scheme, which is public."""
    release, key = view.defense.release(vectors, np.zeros((len(vectors), 1), np.float32), rng, epochs=epochs)
    holds = np.zeros((len(key.members), len(vectors) + 1), dtype=np.float32)
    np.put_along_axis(holds, key.members + 1, 1.0, axis=1)
    holds[:, 0] = 0  # public slots
    return np.abs(np.asarray(release.encodings)), holds @ holds.T > 0


def train(
    make: Shadow,
    public: Floats,
    shape: Shape,
    rng: np.random.Generator,
    *,
    steps: int,
    stage: Callable[[str], None] = lambda text: None,
) -> Embedding:
    """Contrastive: of all encodings in a step, those that share a picture with an encoding are to be the nearest."""
    import torch

    count = min(PICTURES, len(public))
    magnitudes, _ = make(public[rng.choice(len(public), count, replace=False)], 1)
    torch.manual_seed(int(rng.integers(1 << 31)))
    net = Embedding(_network(shape), float(magnitudes.mean()), float(magnitudes.std()) or 1.0, shape)
    optimizer = torch.optim.Adam(net.net.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1)
    with one_thread("cpu"):
        for step in range(steps):
            if step % 20 == 0:
                stage(f"network for pairs, step {step} of {steps}")
            rows = rng.choice(len(public), count, replace=False)
            magnitudes, same = make(public[rows], max(1, ENCODINGS // count))
            shares = torch.as_tensor(same, dtype=torch.float32).fill_diagonal_(0)
            features = net(magnitudes)
            near = SHARPNESS * features @ features.T - 1e9 * torch.eye(len(features))
            likely = (shares * near.log_softmax(dim=1)).sum(dim=1) / shares.sum(dim=1).clamp(min=1)
            optimizer.zero_grad(set_to_none=True)
            (-likely.mean()).backward()
            optimizer.step()
            schedule.step()
    return net


def _network(shape: Shape) -> Any:
    from torch import nn

    channels, side = 3 * shape[0], shape[1]
    parts: list[nn.Module] = []
    for width in WIDTHS:
        parts += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels, side = width, side // 2
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(channels * side * side, FEATURES))
