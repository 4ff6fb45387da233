"""Inside a layer of a packed encoder (bench.encoders.packed): what enters its second feed-forward matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.encoders.packed import Architecture, Batch, _mask, _norm, _padded, attention_bias

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]


def wide(
    weights: Weights,
    hidden: Tensor,
    batch: Batch,
    architecture: Architecture,
    layer: int,
    *,
    first_only: bool = False,
) -> Tensor:
    """Tokens × 4d from a layer's inputs, tokens × d; with `first_only` of each text's first token alone."""
    from torch.nn import functional as F

    from bench.toolkit.linear import linear

    def through(part: str, x: Tensor) -> Tensor:
        return linear(x, weights[f"layer.{layer}.{part}.weight"], weights[f"layer.{layer}.{part}.bias"])

    query, key, value = (part.transpose(1, 2) for part in _padded(through("qkv", hidden), batch, 3, architecture.heads))
    bias = attention_bias(weights, batch, architecture)
    attended = F.scaled_dot_product_attention(query, key, value, attn_mask=_mask(batch, bias))
    flat = attended.transpose(1, 2).reshape(-1, architecture.dim)
    flat = flat if batch.mask is None else flat[batch.slots]
    if first_only:
        flat, hidden = flat[batch.first], hidden[batch.first]
    normed = _norm(hidden + through("out", flat), weights, f"layer.{layer}.norm1", architecture)
    return F.gelu(through("up", normed))
