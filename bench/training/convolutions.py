"""Trains a small convolutional net on released encodings of pictures: three blocks, SGD with one cycle of the rate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats

if TYPE_CHECKING:
    from torch import nn

WIDTHS = (32, 64, 128)
BATCH, RATE, MOMENTUM, DECAY = 128, 0.1, 0.9, 5e-4
# Pictures answered at a time.
BLOCK = 500


def fit(
    releases: Iterable[tuple[Floats, Floats]],
    shape: tuple[int, ...],
    *,
    steps: int,
    magnitudes: bool,
    seed: int,
    device: str,
) -> Callable[[Floats], Floats]:
    """Learns from the encodings and mixed labels of one epoch after the other, `steps` in all; a function from
    encodings to probabilities of classes."""
    import torch

    torch.manual_seed(seed)
    net: Any = None

    def inputs(values: Floats) -> Any:
        values = np.abs(values) if magnitudes else values
        return torch.as_tensor(values, device=device).reshape(-1, *shape)

    for encodings, labels in releases:
        if net is None:
            net = network(shape, labels.shape[1]).to(device)
            optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1)
        for at in range(0, len(encodings), BATCH):
            x = inputs(encodings[at : at + BATCH])
            y = torch.as_tensor(labels[at : at + BATCH], device=device)
            if len(x) == 1:  # no spread to normalise by
                continue
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(net(x), y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    net.eval()

    def answer(asked: Floats) -> Floats:
        with torch.inference_mode():
            parts = [net(inputs(asked[at : at + BLOCK])).softmax(dim=1).cpu() for at in range(0, len(asked), BLOCK)]
        answers: Floats = torch.cat(parts).numpy()
        return answers

    return answer


def network(shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """Two convolutions in each block, then half the side; the mean over places, and one linear layer."""
    from torch import nn

    channels, parts = shape[0], list[nn.Module]()
    for width in WIDTHS:
        parts += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        parts += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
