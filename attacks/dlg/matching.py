"""The distance between the gradients of dummies and the gradients seen, and its derivative, for many attacks at once.

A problem is one released item. Its variables, side by side in one row: the dummy inputs (pictures with channels last,
or a vector), then what else is unknown: the mask, the weights of the dummies in the mix, the label. The convolutions
are differentiated by hand (bench.attacks.dlg.convolutions), the few matrix products behind them by torch.

At batch 1 the gradient of a linear layer is an outer product δ ⊗ a. Neither it nor the target's is ever formed again:
with the target s · p qᵀ (p, q of length 1), α = ⟨a, q⟩ and β = ⟨δ, p⟩,

    ‖δ aᵀ − s p qᵀ‖² = (αβ − s)² + α² ‖δ − βp‖² + ‖δ‖² ‖a − αq‖²

which is exact, costs d + f operations in place of d · f, and does not cancel where the distance is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bench.attacks.dlg.convolutions import Layer, Stack
from bench.toolkit.networks import STRIDES, Victim

# Targets are read in blocks of this many items: the gradients are mapped from disk and may be large.
BLOCK = 16
# How far a layer's gradient may be from an outer product, relatively. Rounding leaves 1e-7.
ROUNDING = 1e-3


@dataclass(frozen=True)
class Unknown:
    """What the attacker has to find besides the inputs."""

    dummies: int = 1
    """inputs of one item; above 1 their weights in the mix are learnt too"""
    mask: bool = False
    label: bool = False


class GradientMatching:
    """The objective of bench.attacks.common.lbfgs for these gradients."""

    def __init__(
        self,
        model: Victim,
        gradients: dict[str, npt.NDArray[np.float32]],
        labels: npt.NDArray[np.float32] | None,
        unknown: Unknown,
        dtype: torch.dtype,
        device: str = "cpu",
    ):
        _check(model, gradients, labels, unknown)
        self.model, self.unknown = model, unknown
        self.weights = model.tensors(dtype, device)
        self.like: dict[str, Any] = {"dtype": dtype, "device": device}
        self.linear = [f"head{i}" for i in range(1, model.layers + 1)]
        self.linear += ["hidden"] if "hidden.weight" in gradients else []
        self.conv = [f"conv{i}" for i in range(1, len(STRIDES) + 1)] if model.picture else []
        self.stack = self._stack() if model.picture else None
        self.targets = self._targets(gradients, labels)
        self.now: dict[str, Tensor] = self.targets
        self.rows: Tensor | None = None

    @property
    def items(self) -> int:
        return len(next(iter(self.targets.values())))

    def sizes(self) -> dict[str, int]:
        """The variables of a problem, in the order in which they lie in a row."""
        k, model = self.unknown.dummies, self.model
        found = {"inputs": k * (int(np.prod(model.picture)) if model.picture else model.dim)}
        found["mask"] = model.dim if self.unknown.mask else 0
        found["share"] = k if k > 1 else 0
        found["label"] = model.outputs if self.unknown.label else 0
        return found

    def split(self, x: Tensor) -> dict[str, Tensor]:
        sizes = self.sizes()
        return dict(zip(sizes, torch.split(x, list(sizes.values()), 1), strict=True))

    def inputs(self, x: Tensor) -> npt.NDArray[np.float32]:
        """The dummy inputs as the world knows them: b × dummies × channels × height × width, or × d."""
        found = self.split(x)["inputs"].float().cpu()
        if not self.model.picture:
            return found.view(len(x), self.unknown.dummies, -1).numpy()
        c, h, w = self.model.picture
        return found.view(len(x), self.unknown.dummies, h, w, c).permute(0, 1, 4, 2, 3).contiguous().numpy()

    def __call__(self, x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Distances b and their gradients b × n at the points x of the problems `rows`."""
        if self.rows is None or not torch.equal(self.rows, rows):
            self.rows = rows.clone()
            self.now = {name: value[rows] for name, value in self.targets.items()}
        parts = self.split(x)
        k = self.unknown.dummies
        if self.stack is None:
            features = parts["inputs"].reshape(len(x), k, -1)
        else:
            pictures = parts["inputs"].reshape(len(x) * k, -1, self.model.picture[0])
            features = self.stack.forward(pictures).view(len(x), k, -1)
        others = {name: part for name, part in parts.items() if name != "inputs" and part.shape[1]}
        free = {name: part.detach().clone().requires_grad_() for name, part in others.items()}
        free["features"] = features.detach().requires_grad_()
        with torch.enable_grad():
            distance, c = self._head(free)
        found = distance.detach()
        outputs, weights = [distance.sum()], [torch.ones((), **self.like)]
        if self.stack is not None:
            gap, own = self._convolutions(c.detach().flatten(0, 1))
            found = found + own
            c_bar = self.stack.differentiate([2 * w for w, _ in gap], [2 * b for _, b in gap])
            outputs, weights = [*outputs, c], [*weights, c_bar.view(c.shape)]
        bars = dict(zip(free, torch.autograd.grad(outputs, list(free.values()), weights), strict=True))
        inputs = bars.pop("features")
        if self.stack is not None:
            inputs = self.stack.to_pictures(inputs.flatten(0, 1))
        return found, torch.cat([inputs.reshape(len(x), -1), *bars.values()], 1)

    def _head(self, free: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The distance over all linear layers, and ∂L/∂features."""
        w, features = self.weights, free["features"]
        share = torch.softmax(free["share"], 1)[:, :, None] if "share" in free else 1.0
        mixed = (features * share).sum(1)
        hidden = "hidden" in self.linear
        u = mixed @ w["hidden.weight"].T + w["hidden.bias"] if hidden else mixed
        u = u * free["mask"] if "mask" in free else u
        inputs = [u]
        for i, name in enumerate(self.linear[: self.model.layers], 1):
            out = inputs[-1] @ w[f"{name}.weight"].T + w[f"{name}.bias"]
            inputs.append(torch.relu(out) if i < self.model.layers else out)
        delta = self._delta(inputs.pop(), free)
        distance = torch.zeros((), **self.like)
        for i in reversed(range(self.model.layers)):
            distance = distance + self._outer(self.linear[i], delta, inputs[i])
            delta = delta @ w[f"{self.linear[i]}.weight"]
            delta = delta * (inputs[i] > 0) if i else delta
        delta = delta * free["mask"] if "mask" in free else delta
        if hidden:
            distance = distance + self._outer("hidden", delta, mixed)
            delta = delta @ w["hidden.weight"]
        return distance, delta[:, None] * share + torch.zeros_like(features)

    def _delta(self, out: Tensor, free: dict[str, Tensor]) -> Tensor:
        """∂L/∂outputs."""
        label = torch.softmax(free["label"], 1) if "label" in free else self.now["label"]
        if self.model.classes:
            return torch.softmax(out, 1) * label.sum(1, keepdim=True) - label
        return 2 * (out - label) / out.shape[1]

    def _outer(self, name: str, delta: Tensor, a: Tensor) -> Tensor:
        s, p, q = (self.now[f"{name}.{part}"] for part in ("size", "left", "right"))
        alpha, beta = (a * q).sum(1), (delta * p).sum(1)
        off_left = (delta - beta[:, None] * p).square().sum(1)
        off_right = (a - alpha[:, None] * q).square().sum(1)
        weight = (alpha * beta - s).square() + alpha.square() * off_left + delta.square().sum(1) * off_right
        return weight + (delta - self.now[f"{name}.bias"]).square().sum(1)

    def _convolutions(self, c: Tensor) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
        assert self.stack is not None
        gap = [
            (weight.sub_(self.now[f"{name}.weight"]), bias.sub_(self.now[f"{name}.bias"]))
            for name, (weight, bias) in zip(self.conv, self.stack.backward(c), strict=True)
        ]
        return gap, torch.stack([part.flatten(1).square().sum(1) for pair in gap for part in pair]).sum(0)

    def _stack(self) -> Stack:
        size, layers = self.model.picture[1], []
        for name, stride in zip(self.conv, STRIDES, strict=True):
            layers.append(Layer.of(self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], stride, size))
            size = layers[-1].result
        return Stack(layers, self.unknown.dummies)

    def _targets(self, gradients: Any, labels: Any) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name in self.conv:
            weight = torch.tensor(np.asarray(gradients[f"{name}.weight"]), **self.like)
            found[f"{name}.weight"] = weight.permute(0, 1, 3, 4, 2).flatten(2).contiguous()
        for name in self.linear:
            parts = _factors(gradients[f"{name}.weight"], gradients[f"{name}.bias"], name)
            for part, value in zip(("size", "left", "right"), parts, strict=True):
                found[f"{name}.{part}"] = torch.tensor(value, **self.like)
        for name in (*self.conv, *self.linear):
            found[f"{name}.bias"] = torch.tensor(np.asarray(gradients[f"{name}.bias"]), **self.like)
        if labels is not None:
            found["label"] = torch.tensor(np.asarray(labels), **self.like)
        return found


def _factors(weight: Any, bias: Any, name: str) -> tuple[Any, Any, Any]:
    """s, p, q of each item's gradient s · p qᵀ; the bias gradient is s · p over the length of the input."""
    bias = np.asarray(bias, dtype=np.float64)
    length = np.linalg.norm(bias, axis=1)
    left = bias / np.maximum(length, 1e-300)[:, None]
    right = np.empty((len(bias), weight.shape[2]))
    off = np.empty(len(bias))
    for at in range(0, len(bias), BLOCK):
        rows = slice(at, at + BLOCK)
        block = np.asarray(weight[rows], dtype=np.float64)
        right[rows] = np.einsum("no,nod->nd", left[rows], block)
        rest = block - left[rows, :, None] * right[rows, None]
        off[rows] = np.linalg.norm(rest, axis=(1, 2)) / np.maximum(np.linalg.norm(block, axis=(1, 2)), 1e-300)
    if off.max(initial=0.0) > ROUNDING:
        raise ValueError(
            f"the gradient of {name} is not that of one example (an outer product fails by {off.max():.1%}): this "
            "attack needs gradients of batches of 1"
        )
    size = np.linalg.norm(right, axis=1)
    return size, left, right / np.maximum(size, 1e-300)[:, None]


def _check(model: Victim, gradients: Any, labels: Any, unknown: Unknown) -> None:
    if model.batch != 1:
        raise ValueError(f"the gradients are means over batches of {model.batch}; this attack needs batches of 1")
    missing = sorted(set(model.weights) ^ set(gradients))
    wrong = missing or [n for n, g in gradients.items() if g.shape[1:] != model.weights[n].shape]
    if wrong:
        raise ValueError(f"gradients and model do not belong together: {wrong} differ in name or shape")
    if model.picture and model.picture[1] != model.picture[2]:
        raise ValueError(f"pictures of {model.picture[1]} × {model.picture[2]}: this attack needs square ones")
    if labels is None and not unknown.label:
        raise ValueError("the label is neither granted nor learnt: add 'labels' to sees, or learn it")
    if unknown.label and not model.classes:
        raise ValueError("only class labels can be learnt; this task has scores: grant 'labels'")
    if labels is not None and labels.shape[1] != model.outputs:
        raise ValueError(f"labels of {labels.shape[1]} classes for a model with {model.outputs} outputs")
