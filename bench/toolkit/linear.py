"""Linear layers in float32 by the library that is fastest on this processor (bench.system.processor).

The same numbers as torch's own `F.linear` but for the last bits, differentiable once. Whatever it is not made for, such
as other precisions or a GPU, goes to `F.linear`.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.overrides import handle_torch_function, has_torch_function

from bench.system.processor import onednn


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x · weightᵀ + bias, for a matrix x."""
    if has_torch_function((x, weight)):  # whoever follows what becomes of the weights sees one call
        found: Tensor = handle_torch_function(linear, (x, weight), x, weight, bias)
        return found
    if not onednn() or not _ordinary(x, weight):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias)):
        return cast(Tensor, _Linear.apply(x, weight, bias))  # type: ignore[no-untyped-call]
    return product(x, weight, bias)


def _ordinary(x: Tensor, weight: Tensor) -> bool:
    return x.dim() == 2 and x.dtype == weight.dtype == torch.float32 and x.device.type == "cpu"


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        return (
            product(grad, weight.T) if of_x else None,
            product(grad.T, x.T) if of_weight else None,
            grad.sum(0) if of_bias else None,
        )


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """By oneDNN: the operator that torch's compiler uses for frozen weights takes ordinary tensors, too."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # noqa: SLF001
    return found
