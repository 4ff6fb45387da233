"""What a client would send of one batch, round after round: for an audit, which asks what two batches differ in."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats
from bench.training import clients
from bench.training.frozen import one_thread
from bench.training.model import HEAD_LAYERS
from bench.training.tokens import Tokens
from bench.training.updates import ClientRound

if TYPE_CHECKING:
    from bench.training.model import Model

# How far above the bound an item's gradient is brought.
FAR = 1e3


class OneBatch(ClientRound):
    """The same sentences in every round. Rounds differ in what the defense of the representation draws."""

    @classmethod
    def of(cls, made: ClientRound, texts: list[str], targets: Floats, seed: int, words: tuple[Any, ...]) -> OneBatch:
        """A client with the model and the defense of another one, and with this batch."""
        mine = replace(made.mine, tokens=Tokens(made.tokenizer, texts, made.max_length), targets=targets)
        return cls(made.model, made.held, made.tokenizer, made.max_length, mine, made.how, len(texts), seed, words)

    def begin(self, rng: np.random.Generator) -> None:
        """Another training: masks last as long as one does."""
        outputs = self.mine.targets.shape[1]
        public = self.mine.public is not None
        masks = clients.draw_masks(self.mine.defense, self.architecture.dim, self.batch, outputs, public, rng)
        self.mine = replace(self.mine, masks=masks)

    def made(self, number: int, names: list[str]) -> dict[str, Floats]:
        """The update of a round, which depends on its number, before the defense of updates changes it."""
        with one_thread(self.model.device):
            found = self._gradient(np.arange(self.batch), number, names)
        return {name: self._rounded(found[name]) for name in names}

    def sent(self, name: str, value: Floats, rng: np.random.Generator) -> Floats:
        if not hasattr(self.mine.defense, "altered"):
            return value
        changed: Floats = self.mine.defense.altered(name, value, self.batch, rng)
        return changed


def steepen(model: Model, bound: float) -> None:
    """Weights with the same answers, and gradients that are far above a clipping bound.

    A promise holds whatever weights a server sends, so it may send these: the last hidden layer is scaled up, and the
    layer behind it down. Clipped gradients are then as long as they can be.
    """
    if model.shared or not model.hidden or not bound or math.isinf(bound):
        return
    import torch

    with torch.no_grad():
        for part in ("weight", "bias"):
            model.head[f"head{HEAD_LAYERS}.{part}"] *= FAR * bound
        model.head[f"head{HEAD_LAYERS + 1}.weight"] /= FAR * bound
