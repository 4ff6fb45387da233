"""The models whose gradients leave a client: what they compute, differentiable in weights and inputs.

Two kinds. *Pictures*: the small convolutional body of the gradient-matching papers, an optional hidden layer whose
output is the representation that a defense mixes and masks, one linear layer after it. *Text*: the encoder is frozen,
so the model is the head alone, fed with the defended vector. Both are functions of a dictionary of weights, so that
`torch.func` can differentiate them and an attack can run them on inputs of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats
from bench.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor, nn

    Weights = dict[str, Tensor]

# Zhu et al. 2019: three 5 × 5 convolutions of 12 channels with sigmoids; weights and biases uniform in ± SPREAD.
CHANNELS, KERNEL, STRIDES, SPREAD = 12, 5, (2, 2, 1), 0.5


@dataclass(frozen=True)
class Victim:
    """A model by its weights: `conv1.weight` …, `hidden.weight` …, `head1.weight` …, each with its `.bias`."""

    weights: dict[str, Floats]
    picture: tuple[int, ...] = ()
    """channels, height, width of the inputs; empty for text, whose inputs are vectors"""
    classes: bool = True
    """the loss is the cross-entropy with (mixed) class labels; else the squared error of a score"""
    batch: int = 1
    """items whose mean loss one gradient is of"""

    @property
    def outputs(self) -> int:
        """length of a label"""
        return len(self.weights[f"head{self.layers}.bias"])

    @property
    def layers(self) -> int:
        """linear layers of the head"""
        return sum(name.startswith("head") for name in self.weights) // 2

    @property
    def dim(self) -> int:
        """of the representation, on which mixing and masks act"""
        return int(self.weights["head1.weight"].shape[1])

    @property
    def parameters(self) -> int:
        return sum(value.size for value in self.weights.values())

    def facts(self) -> dict[str, Any]:
        """All but the weights, as plain JSON."""
        return {"picture": list(self.picture), "classes": self.classes, "batch": self.batch}

    def tensors(self, dtype: Any = None, device: str = "cpu") -> Weights:
        """The weights for torch, in float32 unless asked otherwise."""
        import torch

        return {n: torch.tensor(w, dtype=dtype or torch.float32, device=device) for n, w in self.weights.items()}

    def represent(self, weights: Weights, inputs: Tensor) -> Tensor:
        """Inputs n × … → representations n × dim; a vector of text is its own representation."""
        if not self.picture:
            return inputs
        from torch.nn import functional as F

        features = body(weights, inputs)
        return F.linear(features, weights["hidden.weight"], weights["hidden.bias"]) if has_hidden(weights) else features

    def answer(self, weights: Weights, representation: Tensor) -> Tensor:
        """The head: linear layers with ReLUs between."""
        from torch.nn import functional as F

        for i in range(1, self.layers + 1):
            representation = F.linear(representation, weights[f"head{i}.weight"], weights[f"head{i}.bias"])
            representation = F.relu(representation) if i < self.layers else representation
        return representation

    def loss(self, weights: Weights, representation: Tensor, labels: Tensor) -> Tensor:
        """The mean loss over defended representations n × dim with labels n × outputs."""
        from torch.nn import functional as F

        out = self.answer(weights, representation)
        return F.cross_entropy(out, labels) if self.classes else F.mse_loss(out, labels)


def body(weights: Weights, pictures: Tensor) -> Tensor:
    """Pictures n × c × h × w → features n × f."""
    from torch.nn import functional as F

    for i, stride in enumerate(STRIDES, 1):
        pictures = F.conv2d(
            pictures, weights[f"conv{i}.weight"], weights[f"conv{i}.bias"], stride=stride, padding=KERNEL // 2
        ).sigmoid()
    return pictures.flatten(1)


def has_hidden(weights: Any) -> bool:
    return "hidden.weight" in weights


def body_weights(picture: tuple[int, ...], hidden: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Random weights of the body and, with `hidden` above 0, of the hidden layer; the same body whatever its size."""
    if len(picture) != 3 or min(picture[1:]) < KERNEL:
        raise DataError(
            f"pictures of shape {picture} do not fit: expected channels × height × width of at least {KERNEL} pixels"
        )
    channels, *side = picture
    found: dict[str, Floats] = {}
    for i, stride in enumerate(STRIDES, 1):
        found |= layer(f"conv{i}", (CHANNELS, channels, KERNEL, KERNEL), rng)
        channels, side = CHANNELS, [-(-length // stride) for length in side]
    if hidden:
        found |= layer("hidden", (hidden, channels * side[0] * side[1]), rng)
    return found


def layer(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, Floats]:
    draw = [rng.uniform(-SPREAD, SPREAD, size).astype(np.float32) for size in (shape, shape[:1])]
    return {f"{name}.weight": draw[0], f"{name}.bias": draw[1]}


def head(dim: int, outputs: int, layers: int, *, dropout: float = 0.0, shared: bool = False) -> nn.Sequential:
    """The papers' head for text: hidden layers of the encoder's width. `shared`: one layer applied several times."""
    from torch import nn

    hidden = nn.Linear(dim, dim)
    parts: list[nn.Module] = []
    for _ in range(layers):
        parts += [hidden if shared else nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*parts, nn.Linear(dim, outputs))


def head_weights(dim: int, outputs: int, layers: int, rng: np.random.Generator) -> dict[str, Floats]:
    """That head as it is before training: uniform in ± 1/√inputs, as torch initialises linear layers.

    Not by torch itself, whose random numbers are shared by all threads of a process.
    """
    bound = 1 / np.sqrt(dim)
    found: dict[str, Floats] = {}
    for i, rows in enumerate([dim] * layers + [outputs], 1):
        found[f"head{i}.weight"] = rng.uniform(-bound, bound, (rows, dim)).astype(np.float32)
        found[f"head{i}.bias"] = rng.uniform(-bound, bound, rows).astype(np.float32)
    return found
