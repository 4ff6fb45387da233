"""The model that is trained: the upper layers of an encoder, and the papers' head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.encoders import packed
from bench.encoders.packed import Architecture
from bench.errors import UsageError
from bench.plugins.training import Finetuned
from bench.toolkit.networks import head_weights
from bench.training.tokens import LowerLayers, Tokens, by_length

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]

# Hidden layers of the head.
HEAD_LAYERS = 3
# Texts at a time where nothing is learnt.
BLOCK = 64


class Model:
    """Weights are plain tensors by name: those of `trained` and of the head learn."""

    def __init__(
        self,
        weights: Weights,
        architecture: Architecture,
        options: Finetuned,
        outputs: int,
        rng: np.random.Generator,
        device: str,
    ):
        import torch

        if options.layers > architecture.layers:
            raise UsageError(f"layers={options.layers}: the encoder has {architecture.layers}; 0 trains all of it")
        if options.rep == "pooler" and "pooler.weight" not in weights:
            raise UsageError("rep=pooler: this encoder has no pooler; take rep=cls")
        self.architecture, self.options, self.device = architecture, options, device
        self.frozen = architecture.layers - options.layers if options.layers else 0
        """layers below those that are trained"""
        self.weights = {name: value.to(device) for name, value in weights.items()}
        self.trained = [name for name in weights if self._learns(name)]
        for name in self.trained:
            self.weights[name] = self.weights[name].clone().requires_grad_()
        drawn = head_weights(architecture.dim, outputs, 1 if self.shared else self.hidden, rng)
        self.head = {name: torch.tensor(value, device=device, requires_grad=True) for name, value in drawn.items()}
        # With embeddings that learn, nothing below the first trained layer stays as it is.
        self._lower = LowerLayers(self.weights, architecture, self.frozen, device) if options.layers else None

    @property
    def shared(self) -> bool:
        return self.options.head == "tanh-shared"

    @property
    def hidden(self) -> int:
        """layers of the head before its last"""
        return 0 if self.options.head == "linear" else HEAD_LAYERS

    def _learns(self, name: str) -> bool:
        if name.startswith("layer."):
            return int(name.split(".")[1]) >= self.frozen
        if name.startswith("pooler."):
            return self.options.rep == "pooler"
        return self.options.layers == 0

    def vectors(self, tokens: Tokens, rows: Ints, dropout: float = 0.0) -> Tensor:
        """texts × d, differentiable."""
        if self._lower is None:
            batch = tokens.pack(rows, self.device)
            hidden = packed.embed(self.weights, batch, self.architecture)
        else:
            batch, hidden = self._lower.hidden(tokens, rows)
        which = range(self.frozen, self.architecture.layers)
        first = packed.layers(self.weights, hidden, batch, self.architecture, which, dropout=dropout, first_only=True)
        return packed.pooled(self.weights, first) if self.options.rep == "pooler" else first

    @property
    def computed(self) -> list[tuple[Tokens, Ints]]:
        """Texts whose states below the trained layers are kept, as they were computed together."""
        return [] if self._lower is None else self._lower.groups

    def compute(self, tokens: Tokens, rows: Ints) -> None:
        """Keep the states of texts, computed together."""
        if self._lower is not None:
            self._lower.hidden(tokens, rows)

    def encode(self, tokens: Tokens, rows: Ints) -> Floats:
        """The same without gradients and dropout, for many texts."""
        import torch

        found = np.empty((len(rows), self.architecture.dim), dtype=np.float32)
        place = {int(row): at for at, row in enumerate(rows)}
        with torch.no_grad():
            for some in by_length(tokens, rows, BLOCK):
                found[[place[int(row)] for row in some]] = self.vectors(tokens, some).cpu().numpy()
        return found

    def answer(self, encodings: Tensor, dropout: float = 0.0) -> Tensor:
        """The head's scores: items × classes, or × 1."""
        from torch.nn import functional as F

        def linear(i: int, x: Tensor) -> Tensor:
            return F.linear(x, self.head[f"head{i}.weight"], self.head[f"head{i}.bias"])

        x = encodings
        for i in range(1, self.hidden + 1):
            x = linear(1, x).tanh() if self.shared else linear(i, x).relu()
            x = F.dropout(x, dropout) if dropout else x
        return linear(2 if self.shared else self.hidden + 1, x)

    def scores(self, encodings: Floats) -> Floats:
        import torch

        with torch.no_grad():
            found: Floats = self.answer(torch.as_tensor(encodings, device=self.device)).cpu().numpy()
        return found

    def parameters(self) -> Weights:
        """All that learns, by name."""
        return {**{name: self.weights[name] for name in self.trained}, **self.head}

    def snapshot(self) -> dict[str, Any]:
        """A copy of all that learns, in float32 on the CPU."""
        return {name: value.detach().to("cpu", copy=True) for name, value in self.parameters().items()}

    def restore(self, snapshot: dict[str, Any]) -> None:
        import torch

        with torch.no_grad():
            for name, value in self.parameters().items():
                value.copy_(snapshot[name])
