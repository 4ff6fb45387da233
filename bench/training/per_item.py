"""The items' gradients of a batch, each cut to a norm, and none of them formed.

An item's gradient of a linear layer is Dᵀ·X over its rows, X being what goes in and D the gradient of what comes out.
Its squared norm is the sum of (X·Xᵀ) ∘ (D·Dᵀ), a product over the few tokens of a sentence, and the sum of all cut
gradients is one product with D's rows scaled (Goodfellow 2015; "ghost clipping", Li et al. 2022). So one backward pass
serves all items, where taking them one by one costs one each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from bench.toolkit.linear import linear

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]


@dataclass
class Use:
    """One use of a weight, or of a part of its rows, in the forward pass."""

    name: str
    start: int
    """first row of the weight that is used"""
    inputs: Any
    """rows × in; for an embedding the numbers that were looked up; for a bias None"""
    output: Tensor
    owners: Tensor
    """of each row, the item whose loss it serves"""

    def squares(self, grad: Tensor, items: int) -> Tensor:
        """The squared norm of each item's gradient."""
        here, owners = torch.unique(self.owners, return_inverse=True)
        d = _padded(grad, owners, len(here))
        if self._looked_up:
            x = _padded(self.inputs[:, None], owners, len(here))
            alike = (x == x.mT).to(grad.dtype)  # where there is no row, d is 0
        else:
            x = _padded(self.inputs, owners, len(here))
            alike = x @ x.mT
        return grad.new_zeros(items).index_add(0, here, (alike * (d @ d.mT)).sum((1, 2)))

    def add(self, grad: Tensor, found: Tensor) -> None:
        """This part's gradient, the rows of `grad` being scaled already."""
        if self._looked_up:
            found.index_add_(0, self.inputs, grad)
        else:
            found[self.start : self.start + grad.shape[1]] += grad.T @ self.inputs

    @property
    def _looked_up(self) -> bool:
        return not self.inputs.is_floating_point()


class Elementwise(Use):
    """A bias (inputs None), or the factor of a LayerNorm: an item's gradient is a sum over its rows."""

    def squares(self, grad: Tensor, items: int) -> Tensor:
        return grad.new_zeros(items, grad.shape[1]).index_add(0, self.owners, self._rows(grad)).square().sum(1)

    def add(self, grad: Tensor, found: Tensor) -> None:
        found[self.start : self.start + grad.shape[1]] += self._rows(grad).sum(0)

    def _rows(self, grad: Tensor) -> Tensor:
        return grad if self.inputs is None else self.inputs * grad


class Taps(TorchFunctionMode):
    """Notes how the forward pass uses the weights that learn."""

    def __init__(self, weights: Weights):
        super().__init__()
        self._weights = weights
        self._names = {_memory(value): name for name, value in weights.items()}
        self._uses: list[Use] = []
        self._owners: dict[int, Tensor] = {}
        self._notes: dict[Any, Callable[..., None]] = {F.linear: self._linear, linear: self._linear}
        self._notes |= {F.layer_norm: self._layer_norm, F.embedding: self._embedding}

    def expect(self, *owners: Tensor) -> None:
        """To which items the rows of the next layers belong: a layer is known by its number of rows."""
        self._owners = {len(some): some for some in owners}

    def mean_of_cut(self, losses: Tensor, most: float) -> Weights:
        """The mean of the items' gradients, each cut to a norm over all weights; forgets what was noted."""
        uses, self._uses = self._uses, []
        outputs = {id(use.output): use.output for use in uses}
        found = torch.autograd.grad(losses.sum(), list(outputs.values()), materialize_grads=True)
        grads = dict(zip(outputs, found, strict=True))
        squares = torch.stack([use.squares(grads[id(use.output)], len(losses)) for use in uses]).sum(0)
        factors = (most / squares.sqrt()).clamp(max=1.0) / len(losses)
        mean = {name: torch.zeros_like(value) for name, value in self._weights.items()}
        for use in uses:
            use.add(grads[id(use.output)] * factors[use.owners][:, None], mean[use.name])
        return mean

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        note = self._notes.get(func)
        output = func(*args, **(kwargs or {}))
        if note is not None and output.requires_grad:
            note(output, *args, **(kwargs or {}))
        return output

    def _linear(self, output: Tensor, inputs: Tensor, weight: Tensor, bias: Tensor) -> None:
        self._note(Use, output, inputs.detach(), weight)
        self._note(Elementwise, output, None, bias)

    def _layer_norm(self, output: Tensor, inputs: Tensor, shape: Any, weight: Tensor, bias: Tensor, eps: float) -> None:
        self._note(Elementwise, output, F.layer_norm(inputs.detach(), shape, eps=eps), weight)
        self._note(Elementwise, output, None, bias)

    def _embedding(self, output: Tensor, numbers: Tensor, weight: Tensor, *_: Any, **__: Any) -> None:
        self._note(Use, output, numbers, weight)

    def _note(self, kind: type[Use], output: Tensor, inputs: Tensor | None, weight: Tensor) -> None:
        name = self._names.get(_memory(weight))
        if name is not None:
            start = int(weight.storage_offset()) // weight.stride(0)
            self._uses.append(kind(name, start, inputs, output, self._owners[len(output)]))


def _memory(weight: Tensor) -> int:
    """The same for a weight and for some of its rows."""
    return weight.untyped_storage().data_ptr()


def _padded(rows: Tensor, owners: Tensor, count: int) -> Tensor:
    """Items × the most rows that one has × width."""
    order = torch.argsort(owners, stable=True)
    sizes = torch.bincount(owners, minlength=count)
    ends = torch.cumsum(sizes, 0)
    inside = torch.arange(len(rows), device=rows.device) - (ends - sizes)[owners[order]]
    full = rows.new_zeros(count, int(sizes.max()), rows.shape[1])
    full[owners[order], inside] = rows[order]
    return full
