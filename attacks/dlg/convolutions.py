"""Gradients of a stack of convolutions with respect to its weights, picture by picture, and how to differentiate them.

Written out by hand: `torch.func` spends most of its time on small kernels and copies, while here everything is a
matrix product over the patches of all pictures at once. Pictures are laid out with the channels last, so that a patch
is five contiguous runs. With sigmoids, for layer l (U patches of its input, a = σ(W U + b), c = ∂L/∂a):

    e = c ⊙ a(1 − a)      G = eᵀU      c of the layer before = W transposed on e

`forward` gives the features; `backward`, given c of the last layer, the weight gradients G summed over the dummies of
each attack; `differentiate` the derivative of a function of those gradients with respect to c; `to_pictures` that with
respect to the pictures. benchmarks/matching.py measures it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Layer:
    """One convolution. `weight` is out × (k · k · in), in the order of a patch: row, column, channel."""

    weight: Tensor
    bias: Tensor
    kernel: int
    stride: int
    size: int
    """side of its input"""
    inputs: int
    back: Tensor
    """for every weight of the transposed convolution, its place in `weight`; the last place stands for a zero"""

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, stride: int, size: int) -> Layer:
        out, inputs, kernel, _ = weight.shape
        flat = weight.permute(0, 2, 3, 1).reshape(out, -1).contiguous()
        back = _transposed_places(out, inputs, kernel, stride).to(weight.device)
        return cls(flat, bias, kernel, stride, size, inputs, back)

    @property
    def outputs(self) -> int:
        return len(self.weight)

    @property
    def reach(self) -> int:
        return (self.kernel - 1) // 2

    @property
    def result(self) -> int:
        """side of its output"""
        return -(-self.size // self.stride)

    def patches(self, a: Tensor, to: Patches) -> Tensor:
        """b × size² × in → b × result² × (k · k · in)"""
        return to.of(a.view(len(a), self.size, self.size, -1), self.kernel, self.stride, self.reach)

    def apply(self, patches: Tensor) -> Tensor:
        return patches @ self.weight.T

    def back_patches(self, e: Tensor, to: Patches) -> Tensor:
        """Patches of something like the output, from which the transposed convolution is one product."""
        reach = -(-self.reach // self.stride)
        return to.of(e.view(len(e), self.result, self.result, -1), 2 * reach + 1, 1, reach)

    def transposed(self, patches: Tensor, weight: Tensor) -> Tensor:
        """The transposed convolution with `weight` (out × taps, or one for each picture), from `back_patches`."""
        kernel = F.pad(weight.flatten(-2), (0, 1)).index_select(-1, self.back)
        kernel = kernel.view(*weight.shape[:-2], patches.shape[2], -1)
        out = patches @ kernel
        s, side = self.stride, self.result
        if s == 1:
            return out
        # The s × s results of a place lie behind one another; they belong side by side.
        out = out.view(len(out), side, side, s, s, self.inputs).permute(0, 1, 3, 2, 4, 5)
        return out.reshape(len(out), self.size * self.size, self.inputs)


class Patches:
    """Patches of a batch, in memory that is kept: fresh memory for every evaluation costs more than the copying."""

    def __init__(self) -> None:
        self.padded = self.out = torch.empty(0)

    def of(self, a: Tensor, kernel: int, stride: int, reach: int) -> Tensor:
        b, size, _, channels = a.shape
        side, wide = -(-size // stride), size + 2 * reach
        if len(self.padded) < b or self.padded.dtype != a.dtype:
            self.padded = a.new_zeros(b, wide, wide, channels)  # the border stays zero
            self.out = a.new_empty(b, side, side, kernel, kernel * channels)
        padded, out = self.padded[:b], self.out[:b]
        padded[:, reach : reach + size, reach : reach + size] = a
        batch, row, column, _ = padded.stride()
        # A row of a patch is contiguous, so the copy moves kernel · channels values at a time.
        out.copy_(padded.as_strided(out.shape, (batch, stride * row, stride * column, row, 1)))
        return out.view(b, side * side, kernel * kernel * channels)


def _transposed_places(out: int, inputs: int, kernel: int, stride: int) -> Tensor:
    """Which weight takes a value of the output at p to the input at q = stride · p + u − reach, for tap u.

    With q = stride · r + phase, the outputs concerned are p = r + v for |v| ≤ reach / stride rounded up; so each place
    r has one patch of outputs, and each phase its own taps of it.
    """
    reach = (kernel - 1) // 2
    wide = -(-reach // stride)
    window, phase = torch.arange(-wide, wide + 1), torch.arange(stride)
    tap = phase[None, :] + reach - stride * window[:, None]  # window × phase
    nowhere = out * kernel * kernel * inputs
    y, x = tap[:, None, None, :, None, None], tap[None, :, None, None, :, None]
    o, i = torch.arange(out)[None, None, :, None, None, None], torch.arange(inputs)
    place = ((o * kernel + y) * kernel + x) * inputs + i
    inside = (y >= 0) & (y < kernel) & (x >= 0) & (x < kernel)
    return torch.where(inside, place, nowhere).reshape(-1)


class Stack:
    """The layers, and what one evaluation leaves behind for the next half of it."""

    def __init__(self, layers: list[Layer], dummies: int):
        self.layers = layers
        self.dummies = dummies
        """pictures of one attack, whose gradients add up"""
        self.room: dict[tuple[str, int], Patches] = defaultdict(Patches)

    def forward(self, pictures: Tensor) -> Tensor:
        """b × size² × channels → features b × (outputs · result²), in the order of channels first, as a model's own."""
        self.u: list[Tensor] = []
        self.a: list[Tensor] = []
        a = pictures
        for layer in self.layers:
            u = layer.patches(a, self.room["u", len(self.u)])
            a = torch.sigmoid_(layer.apply(u).add_(layer.bias))
            self.u.append(u)
            self.a.append(a)
        self.slope = [a * (1 - a) for a in self.a]
        return a.transpose(1, 2).reshape(len(a), -1)

    def backward(self, c: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Weight and bias gradients of each layer, per attack, from ∂L/∂features."""
        last = self.layers[-1]
        c = c.view(len(c), last.outputs, -1).transpose(1, 2).contiguous()
        self.c: list[Tensor] = []
        self.e: list[Tensor] = []
        self.seen: list[Tensor] = []
        found: list[tuple[Tensor, Tensor]] = []
        for i in reversed(range(len(self.layers))):
            e = c * self.slope[i]
            grouped = self._grouped(e)
            found.append((grouped.transpose(1, 2) @ self._grouped(self.u[i]), grouped.sum(1)))
            self.c.append(c)
            self.e.append(e)
            if i:
                layer = self.layers[i]
                self.seen.append(layer.back_patches(e, self.room["e", i]))
                c = layer.transposed(self.seen[-1], layer.weight)
        for kept in (self.c, self.e, self.seen, found):
            kept.reverse()
        return found

    def differentiate(self, weight: list[Tensor], bias: list[Tensor]) -> Tensor:
        """∂D/∂c of the last layer, given ∂D/∂G (per attack) for weights and biases."""
        self.weight_bar = weight
        self.e_bar: list[Tensor] = []
        c_bar: Tensor | None = None
        for i, layer in enumerate(self.layers):
            e_bar = torch.baddbmm(bias[i][:, None], self._grouped(self.u[i]), weight[i].transpose(1, 2))
            e_bar = e_bar.view(self.e[i].shape)
            if c_bar is not None:
                e_bar += layer.apply(layer.patches(c_bar, self.room["c", i]))
            self.e_bar.append(e_bar)
            c_bar = e_bar * self.slope[i]
        assert c_bar is not None
        return c_bar.transpose(1, 2).reshape(len(c_bar), -1)

    def to_pictures(self, features_bar: Tensor) -> Tensor:
        """∂D/∂pictures, given ∂D/∂features through everything but the convolutions' own gradients."""
        a_bar = features_bar.view(len(features_bar), self.layers[-1].outputs, -1).transpose(1, 2).contiguous()
        for i in reversed(range(len(self.layers))):
            layer, slope = self.layers[i], self.slope[i]
            z_bar = slope * (a_bar + self.e_bar[i] * self.c[i] * (1 - 2 * self.a[i]))
            e_patches = self.seen[i - 1] if i else layer.back_patches(self.e[i], self.room["e", i])
            own = self.weight_bar[i].repeat_interleave(self.dummies, 0) if self.dummies > 1 else self.weight_bar[i]
            a_bar = layer.transposed(layer.back_patches(z_bar, self.room["z", i]), layer.weight) + layer.transposed(
                e_patches, own
            )
        return a_bar

    def _grouped(self, value: Tensor) -> Tensor:
        """All pictures of an attack in one row of patches, so that their gradients add up in one product."""
        return value.reshape(len(value) // self.dummies, -1, value.shape[2])
