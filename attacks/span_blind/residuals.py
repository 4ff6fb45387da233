"""How far sentences are from having made an update, many at a time, and after any change of one word.

What enters the first layer's feed-forward matrix `up` is LayerNorm(z), where z = x + Σ α·(O·V·x) over heads and tokens.
LayerNorm is linear but for its division by the spread. So outside the span of that matrix's gradient and of LayerNorm's
shift a token of a right sentence leaves nothing of z, and z is linear in the heads' averages: each word at each place
is projected once, and another word in a sentence changes one term of each sum. No layer is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from bench.attacks.common.updates import tensor
from bench.attacks.span.subspace import span_of
from bench.encoders import packed

if TYPE_CHECKING:
    from bench import Ints
    from bench.surfaces.seen import SeenUpdates

# Directions outside the span that are looked at: a right sentence leaves nothing in any, so that some are enough.
DIRECTIONS = 128
# Numbers that are held at a time: 64 MiB.
HELD = 1 << 24
# Attention scores are not larger than this, or their exponential has no number.
LARGEST = 80.0


class Residuals:
    """Of sentences of these words; a sentence is a row of indexes into them, [CLS] and [SEP] included."""

    def __init__(self, seen: SeenUpdates, number: int, words: Ints, places: int, rng: np.random.Generator):
        weights, shape = seen.weights, seen.architecture
        span = span_of(tensor(seen[number], "layer.0.up.weight"))
        self.rank = span.rank
        """tokens of the batch"""
        taken = np.vstack([span.basis, weights["layer.0.norm1.bias"].double().numpy()])
        self.room = 0 if span.whole else max(shape.dim - len(taken), 0)
        """dimensions outside: none, if the batch has as many tokens as the layer has inputs"""
        outside = _complement(taken, min(self.room, DIRECTIONS), rng)
        look = weights["layer.0.norm1.weight"].double().numpy()[:, None] * outside
        look = torch.as_tensor(look - look.mean(axis=0), dtype=torch.float32)

        x = weights["embeddings.word"][torch.as_tensor(words)][:, None]
        x = x + weights["embeddings.position"][shape.offset : shape.offset + places]
        if "embeddings.type" in weights:
            x = x + weights["embeddings.type"][0]
        x = F.layer_norm(x, (shape.dim,), weights["embeddings.norm.weight"], weights["embeddings.norm.bias"], shape.eps)
        qkv = F.linear(x, weights["layer.0.qkv.weight"], weights["layer.0.qkv.bias"])
        width = shape.dim // shape.heads
        query, key, value = qkv.view(len(words), places, 3, shape.heads, width).unbind(2)
        out = (weights["layer.0.out.weight"].T @ look).view(shape.heads, width, -1)
        # Of each word at each place: by head its query, key and what it adds where it is looked at; its own residual.
        self._query, self._key = query / width**0.5, key
        self._adds = torch.einsum("wphe,her->wphr", value, out)
        self._own = (x + weights["layer.0.out.bias"]) @ look
        some = packed.pack([[0] * places], None)
        bias = packed.attention_bias(weights, some, shape)
        self._bias = torch.zeros(places, places, shape.heads) if bias is None else bias[0].permute(1, 2, 0)

    def of(self, sentences: Tensor) -> Tensor:
        """Mean size of the residuals of each sentence's tokens."""
        size = max(1, HELD // (sentences.shape[1] * self._adds[0, 0].numel() or 1))
        return torch.cat([self._of(some) for some in torch.split(sentences, size)])

    def _of(self, sentences: Tensor) -> Tensor:
        query, key, adds, own = self._parts(sentences)
        length = sentences.shape[1]
        looks = _exp(torch.einsum("sihe,sjhe->sijh", query, key) + self._bias[:length, :length])
        heads = torch.einsum("sijh,sjhr->sir", looks / looks.sum(2, keepdim=True), adds)
        found: Tensor = (own + heads).norm(dim=-1).mean(1)
        return found

    def replaced(self, sentences: Tensor, place: int, words: Tensor) -> Tensor:
        """Sentences × words: the same with each of `words` at a place."""
        size = max(1, HELD // (sentences.shape[1] * len(words) * max(self._own.shape[-1], 1)))
        return torch.cat([self._replaced(some, place, words) for some in torch.split(sentences, size)])

    def _replaced(self, sentences: Tensor, place: int, words: Tensor) -> Tensor:
        length = sentences.shape[1]
        rest = torch.tensor([at for at in range(length) if at != place])
        query, key, adds, own = (part[:, rest] for part in self._parts(sentences))
        new_query, new_key, new_adds, new_own = (
            part[words, place] for part in (self._query, self._key, self._adds, self._own)
        )
        # What the other tokens look at: each other, which does not change, and the new word.
        looks = _exp(torch.einsum("sihe,sjhe->sijh", query, key) + self._bias[rest][:, rest])
        to_new = _exp(torch.einsum("sihe,whe->siwh", query, new_key) + self._bias[rest, place][:, None])
        scale = 1 / (looks.sum(2)[:, :, None] + to_new)
        others = own[:, :, None] + torch.einsum("siwh,sihr->siwr", scale, torch.einsum("sijh,sjhr->sihr", looks, adds))
        others += torch.einsum("siwh,whr->siwr", to_new * scale, new_adds)
        # What the new word looks at: the others, and itself.
        from_new = _exp(torch.einsum("whe,sjhe->swjh", new_query, key) + self._bias[place, rest])
        at_itself = _exp((new_query * new_key).sum(-1) + self._bias[place, place])
        total = torch.einsum("swjh,sjhr->swhr", from_new, adds) + at_itself[..., None] * new_adds
        itself = new_own + (total / (from_new.sum(2) + at_itself)[..., None]).sum(2)
        found: Tensor = (others.norm(dim=-1).sum(1) + itself.norm(dim=-1)) / length
        return found

    def _parts(self, sentences: Tensor) -> tuple[Tensor, ...]:
        places = torch.arange(sentences.shape[1])
        return tuple(part[sentences, places] for part in (self._query, self._key, self._adds, self._own))


def _exp(scores: Tensor) -> Tensor:
    return scores.clamp(max=LARGEST).exp()


def _complement(rows: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """So many orthonormal columns that are orthogonal to all rows."""
    dim = rows.shape[1]
    whole, _ = np.linalg.qr(np.hstack([rows.T, rng.standard_normal((dim, count))]))
    return whole[:, len(rows) : len(rows) + count]
