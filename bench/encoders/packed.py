"""BERT-type and MPNet encoders over packed tokens, differentiable: what fine-tuning runs on.

The tokens of a batch stand one after the other in one matrix, so that linear layers never see padding; attention alone
is padded to the longest text. Query, key and value are one product. Where only the first token is wanted, the last
layer computes only that. Equal to transformers' own forward pass to 1e-5 (a test compares them).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.errors import BenchError, UsageError

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]

# The names of a layer's parts in the files of each family, `{}` being the layer's number.
_BERT = {
    "qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "out": ("attention.output.dense",),
    "norm1": ("attention.output.LayerNorm",),
    "up": ("intermediate.dense",),
    "down": ("output.dense",),
    "norm2": ("output.LayerNorm",),
}
_MPNET = {
    **_BERT,
    "qkv": ("attention.attn.q", "attention.attn.k", "attention.attn.v"),
    "out": ("attention.attn.o",),
    "norm1": ("attention.LayerNorm",),
}
FAMILIES = {"bert": _BERT, "roberta": _BERT, "xlm-roberta": _BERT, "camembert": _BERT, "mpnet": _MPNET}
# Families whose positions are counted from behind the padding token's number.
_OFFSET = ("roberta", "xlm-roberta", "camembert")
_EMBEDDINGS = {
    "word": "word_embeddings.weight",
    "position": "position_embeddings.weight",
    "type": "token_type_embeddings.weight",
    "norm.weight": "LayerNorm.weight",
    "norm.bias": "LayerNorm.bias",
}


@dataclass(frozen=True)
class Architecture:
    """What of a model's configuration its forward pass depends on."""

    family: str
    dim: int
    heads: int
    layers: int
    eps: float
    offset: int
    """number of the first position"""
    positions: int
    buckets: int = 0
    """of relative positions, where there are any (MPNet)"""

    @classmethod
    def known(cls, folder: Path) -> bool:
        """Whether a model's folder holds one that this module can run."""
        try:
            cls.read(folder)
        except UsageError:
            return False
        return any(folder.glob("*.safetensors"))

    @classmethod
    def read(cls, folder: Path) -> Architecture:
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BenchError(f"{folder / 'config.json'} cannot be read ({error}): give a model's folder") from error
        family = config.get("model_type", "")
        if family not in FAMILIES:
            raise UsageError(
                f"updates, training through a defense and kernel=packed know the families {', '.join(FAMILIES)}, and "
                f"{folder.name} is {family or 'no transformer'}: choose another --encoder, or an attack on encodings "
                "with --training frozen and kernel=transformers"
            )
        if (
            config.get("hidden_act", "gelu") != "gelu"
            or config.get("position_embedding_type", "absolute") != "absolute"
        ):
            raise UsageError(
                f"updates, training through a defense and kernel=packed know gelu and absolute positions, and "
                f"{folder.name} has others: choose another --encoder, or an attack on encodings with --training frozen "
                "and kernel=transformers"
            )
        offset = config["pad_token_id"] + 1 if family in _OFFSET else 0
        offset = 2 if family == "mpnet" else offset  # whatever its configuration says
        return cls(
            family,
            config["hidden_size"],
            config["num_attention_heads"],
            config["num_hidden_layers"],
            config["layer_norm_eps"],
            offset,
            config["max_position_embeddings"] - offset,
            config.get("relative_attention_num_buckets", 0) if family == "mpnet" else 0,
        )


def load(folder: Path, architecture: Architecture) -> Weights:
    """The weights by this module's names: `embeddings.word`, `layer.0.qkv.weight` …, `pooler.weight`."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    raw: dict[str, Tensor] = {}
    try:
        for path in sorted(folder.glob("*.safetensors")):
            raw |= load_file(path)
    except (OSError, SafetensorError) as error:
        raise BenchError(f"the weights in {folder} cannot be read ({error}): fetch the model again") from error
    if not raw:
        raise BenchError(
            f"{folder} holds no weights (*.safetensors): training through a defense and kernel=packed need them"
        )
    prefixes = {name.partition("embeddings.")[0] for name in raw if "embeddings.word_embeddings" in name}
    prefix = min(prefixes, default="")
    found: Weights = {}
    try:
        for mine, theirs in _EMBEDDINGS.items():
            if f"{prefix}embeddings.{theirs}" in raw:
                found[f"embeddings.{mine}"] = raw[f"{prefix}embeddings.{theirs}"].float()
        for i in range(architecture.layers):
            for mine, parts in FAMILIES[architecture.family].items():
                for kind in ("weight", "bias"):
                    some = [raw[f"{prefix}encoder.layer.{i}.{part}.{kind}"] for part in parts]
                    found[f"layer.{i}.{mine}.{kind}"] = torch.cat(some).float()
        if architecture.buckets:
            found["relative"] = raw[f"{prefix}encoder.relative_attention_bias.weight"].float()
    except KeyError as error:
        raise BenchError(f"the weights in {folder} lack {error}: fetch the model again") from error
    if f"{prefix}pooler.dense.weight" in raw:
        found |= {f"pooler.{kind}": raw[f"{prefix}pooler.dense.{kind}"].float() for kind in ("weight", "bias")}
    return found


def tokenizer_of(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise BenchError(f"the tokenizer in {folder} cannot be loaded: fetch the model again") from error


@dataclass(frozen=True)
class Batch:
    """Packed tokens of some texts: which text each belongs to, and where in it."""

    ids: Tensor
    types: Tensor
    places: Tensor
    """of each token in its text, from 0"""
    slots: Tensor
    """of each token in the padded texts × longest matrix"""
    first: Tensor
    """row of each text's first token"""
    count: int
    longest: int
    mask: Tensor | None
    """texts × 1 × 1 × longest: which places hold a token; None if all do"""
    runs: tuple[tuple[int, int], ...] | None = None
    """number and length of the texts of one length that follow each other, where attention goes run by run"""


def pack(ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None, device: str = "cpu") -> Batch:
    import torch

    lengths = np.array([len(some) for some in ids])
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    places = np.arange(lengths.sum()) - np.repeat(first, lengths)
    longest = int(lengths.max())
    slots = np.repeat(np.arange(len(ids)) * longest, lengths) + places
    flat = np.fromiter((token for some in ids for token in some), np.int64, len(places))
    kinds = np.zeros_like(flat)
    if types is not None:
        kinds = np.fromiter((token for some in types for token in some), np.int64, len(places))
    mask = None
    if lengths.min() < longest:
        mask = torch.as_tensor(np.arange(longest) < lengths[:, None], device=device)[:, None, None, :]
    return Batch(
        ids=torch.as_tensor(flat, device=device),
        types=torch.as_tensor(kinds, device=device),
        places=torch.as_tensor(places, device=device),
        slots=torch.as_tensor(slots, device=device),
        first=torch.as_tensor(first, device=device),
        count=len(ids),
        longest=longest,
        mask=mask,
    )


def embed(weights: Weights, batch: Batch, architecture: Architecture) -> Tensor:
    """Tokens × d, before the first layer."""
    from torch.nn import functional as F

    found = F.embedding(batch.ids, weights["embeddings.word"])
    found = found + F.embedding(batch.places + architecture.offset, weights["embeddings.position"])
    if "embeddings.type" in weights:
        found = found + F.embedding(batch.types, weights["embeddings.type"])
    return _norm(found, weights, "embeddings.norm", architecture)


def layers(
    weights: Weights,
    hidden: Tensor,
    batch: Batch,
    architecture: Architecture,
    which: range,
    *,
    dropout: float = 0.0,
    first_only: bool = False,
) -> Tensor:
    """Tokens × d after the layers `which`; with `first_only` texts × d, each text's first token."""
    bias = attention_bias(weights, batch, architecture)
    for i in which:
        last = first_only and i == which[-1]
        hidden = _layer(weights, hidden, batch, architecture, f"layer.{i}", bias, dropout, last)
    if first_only and not len(which):
        return hidden[batch.first]
    return hidden


def pooled(weights: Weights, first: Tensor) -> Tensor:
    """tanh(W·[CLS] + b), where the model has a pooler."""
    from bench.toolkit.linear import linear

    if "pooler.weight" not in weights:
        raise UsageError("rep=pooler: this encoder has no pooler; take rep=cls")
    return linear(first, weights["pooler.weight"], weights["pooler.bias"]).tanh()


def _layer(
    weights: Weights,
    hidden: Tensor,
    batch: Batch,
    architecture: Architecture,
    name: str,
    bias: Tensor | None,
    dropout: float,
    last: bool,
) -> Tensor:
    from torch.nn import functional as F

    from bench.toolkit.linear import linear

    d, heads = architecture.dim, architecture.heads
    if batch.runs is not None:
        return feed_forward(
            weights, hidden, attended(weights, hidden, batch, architecture, name, bias), architecture, name
        )
    if last:  # only the first tokens ask; all tokens answer
        weight, offset = weights[f"{name}.qkv.weight"], weights[f"{name}.qkv.bias"]
        hidden_in = hidden[batch.first]
        query = linear(hidden_in, weight[:d], offset[:d]).view(batch.count, 1, heads, d // heads)
        key, value = _padded(linear(hidden, weight[d:], offset[d:]), batch, 2, heads)
        bias = None if bias is None else bias[:, :, :1]
    else:
        hidden_in = hidden
        qkv = linear(hidden, weights[f"{name}.qkv.weight"], weights[f"{name}.qkv.bias"])
        query, key, value = _padded(qkv, batch, 3, heads)
    mask = _mask(batch, bias)
    mixed = F.scaled_dot_product_attention(
        query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attn_mask=mask, dropout_p=dropout
    )
    flat = mixed.transpose(1, 2).reshape(-1, d)
    flat = flat if last or batch.mask is None else flat[batch.slots]
    return feed_forward(weights, hidden_in, flat, architecture, name, dropout)


def feed_forward(
    weights: Weights, hidden: Tensor, mixed: Tensor, architecture: Architecture, name: str, dropout: float = 0.0
) -> Tensor:
    """A layer's output from its input and what attention made of it."""
    from torch.nn import functional as F

    from bench.toolkit.linear import linear

    def through(part: str, x: Tensor) -> Tensor:
        return linear(x, weights[f"{name}.{part}.weight"], weights[f"{name}.{part}.bias"])

    def dropped(x: Tensor) -> Tensor:
        return F.dropout(x, dropout) if dropout else x

    hidden = _norm(hidden + dropped(through("out", mixed)), weights, f"{name}.norm1", architecture)
    wide = F.gelu(through("up", hidden))
    return _norm(hidden + dropped(through("down", wide)), weights, f"{name}.norm2", architecture)


def attended(
    weights: Weights, hidden: Tensor, batch: Batch, architecture: Architecture, name: str, bias: Tensor | None = None
) -> Tensor:
    """Tokens × d after a layer's attention, run by run; tokens behind the last run, which fill up the block, have 0."""
    from torch.nn import functional as F

    from bench.toolkit.linear import linear

    d, heads, at = architecture.dim, architecture.heads, 0
    qkv = linear(hidden, weights[f"{name}.qkv.weight"], weights[f"{name}.qkv.bias"])
    found = hidden.new_zeros(hidden.shape)
    for count, length in batch.runs or ():
        here = slice(at, at + count * length)
        query, key, value = qkv[here].view(count, length, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        near = None if bias is None else bias[:, :, :length, :length]
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=near)
        found[here] = mixed.transpose(1, 2).reshape(-1, d)
        at = here.stop
    return found


def _padded(packed: Tensor, batch: Batch, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Each part as texts × longest × heads × width."""
    if batch.mask is not None:
        full = packed.new_zeros(batch.count * batch.longest, packed.shape[1])
        packed = full.index_copy(0, batch.slots, packed)
    shaped = packed.view(batch.count, batch.longest, parts, heads, -1)
    return shaped.unbind(2)


def _mask(batch: Batch, bias: Tensor | None) -> Tensor | None:
    """What attention adds to its scores, or which places it may look at."""
    if bias is None:
        return batch.mask
    if batch.mask is None:
        return bias
    return bias.masked_fill(~batch.mask, -math.inf)


def attention_bias(weights: Weights, batch: Batch, architecture: Architecture) -> Tensor | None:
    """1 × heads × longest × longest, by how far two tokens are apart (MPNet, as T5)."""
    if not architecture.buckets:
        return None
    import torch
    from torch.nn import functional as F

    place = torch.arange(batch.longest, device=batch.ids.device)
    apart = place[:, None] - place[None, :]  # how far the key stands before the query
    half = architecture.buckets // 2
    exact = half // 2
    size = apart.abs()
    # Small distances have a bucket of their own, larger ones share it by their logarithm, up to 128.
    far = exact + (torch.log(size.clamp(min=1).float() / exact) / math.log(128 / exact) * (half - exact)).long()
    bucket = (apart < 0).long() * half + torch.where(size < exact, size, far.clamp(max=half - 1))
    return F.embedding(bucket, weights["relative"]).permute(2, 0, 1)[None]


def _norm(x: Tensor, weights: Weights, name: str, architecture: Architecture) -> Tensor:
    from torch.nn import functional as F

    return F.layer_norm(x, (x.shape[-1],), weights[f"{name}.weight"], weights[f"{name}.bias"], architecture.eps)
