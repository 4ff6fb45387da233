"""Trains the papers' head, an MLP with three hidden layers of the encoder's width, on released encodings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bench.arrays import Floats
from bench.toolkit import networks


@dataclass(frozen=True)
class Training:
    """Fixed for all defenses, so that what differs is the defense. Chosen on train sets alone: with a third of this
    rate the undefended head learns as well, and one that has masks to cope with learns less."""

    epochs: int = 20
    batch: int = 256
    rate: float = 1e-3
    warmup: float = 0.1
    dropout: float = 0.1
    layers: int = 3
    shared: bool = False
    """one hidden layer applied three times, as the authors' code does"""
    held_out: float = 0.1
    """share of the train set that chooses the epoch to stop at, as in TextHide's appendix B.3"""


@contextlib.contextmanager
def one_thread(device: str) -> Iterator[None]:
    """Layers this small gain nothing from a second thread, and lose much when it has to be waited for."""
    import torch

    before = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fit(
    encodings: Floats,
    targets: Floats,
    questions: tuple[Floats, Floats],
    goodness: Callable[[Floats], tuple[float, ...]],
    *,
    classes: bool,
    training: Training,
    seed: int,
    device: str,
    progress: Callable[[str], None],
) -> tuple[Floats, int, tuple[float, ...]]:
    """Scores for the second questions by the head as it was when `goodness` of its scores for the first was highest.

    `encodings` holds the releases of all epochs, in the order they came. Also returns the epoch and that goodness.
    """
    import torch
    from torch import nn

    # Standardised per coordinate by the release itself: what every client can do, and no fairer to one defense.
    mean, spread = encodings.mean(axis=0), encodings.std(axis=0)
    spread[spread < 1e-6] = 1
    level, range_ = (0.0, 1.0) if classes else (float(targets.mean()), float(targets.std()) or 1.0)
    torch.manual_seed(seed)
    size = (encodings.shape[1], targets.shape[1], training.layers)
    head = networks.head(*size, dropout=training.dropout, shared=training.shared).to(device)
    steps = -(-len(encodings) // training.batch)
    optimizer = torch.optim.AdamW(head.parameters(), lr=training.rate, fused=True)
    warm = max(1, int(training.warmup * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
    )
    loss_of = nn.CrossEntropyLoss() if classes else nn.MSELoss()  # cross-entropy takes mixed labels as they are

    def answer(asked: Floats) -> Floats:
        head.eval()
        with torch.inference_mode():
            out = head(torch.as_tensor((asked - mean) / spread, device=device))
        head.train()
        scores: Floats = out.cpu().numpy() * range_ + level
        return scores

    ends = {round(steps * (epoch + 1) / training.epochs) - 1: epoch + 1 for epoch in range(training.epochs)}
    best: tuple[float, ...] = (-np.inf,)
    chosen, scores = 0, answer(questions[1])
    for step in range(steps):
        rows = slice(step * training.batch, (step + 1) * training.batch)
        x = torch.as_tensor((encodings[rows] - mean) / spread, device=device)
        y = torch.as_tensor((targets[rows] - level) / range_, device=device, dtype=x.dtype)
        optimizer.zero_grad(set_to_none=True)
        loss_of(head(x), y).backward()
        optimizer.step()
        schedule.step()
        if step in ends:
            progress(f"training, epoch {ends[step]} of {training.epochs}")
            reached = goodness(answer(questions[0]))
            if reached > best:
                best, chosen, scores = reached, ends[step], answer(questions[1])
    return scores, chosen, best
