"""A client's side of some rounds of training: what it sends of each of its batches.

One batch is one round. Its sentences go through the encoder, the defense mixes and masks their vectors, the head judges
them, and what is sent is the gradient of the mean loss in all weights that are shared; or, with several local steps,
the change of those weights. Every batch starts from the same weights: rounds are attacked one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.encoders import packed
from bench.encoders.packed import Architecture
from bench.errors import UsageError
from bench.plugins.rounds import Update
from bench.system.seeds import entropy, generator
from bench.toolkit.corpus import Corpus
from bench.training import clients
from bench.training.clients import Masks
from bench.training.frozen import one_thread
from bench.training.model import Model
from bench.training.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

    Weights = dict[str, Tensor]

_PRECISIONS = {"bf16": "bfloat16", "fp16": "float16"}


class RoundModel(Model):
    """The model as it is trained, with the dropout behind the embeddings that transformers' own models have."""

    def vectors(self, tokens: Tokens, rows: Ints, dropout: float = 0.0) -> Tensor:
        from torch.nn import functional as F

        if not dropout or self.options.layers:  # layers that do not learn drop nothing (bench.training.model)
            return super().vectors(tokens, rows, dropout)
        batch = tokens.pack(rows, self.device)
        hidden = F.dropout(packed.embed(self.weights, batch, self.architecture), dropout)
        which = range(self.architecture.layers)
        first = packed.layers(self.weights, hidden, batch, self.architecture, which, dropout=dropout, first_only=True)
        return packed.pooled(self.weights, first) if self.options.rep == "pooler" else first


@dataclass(frozen=True)
class Holdings:
    """What the client has, besides the model."""

    defense: Any
    name: str
    masks: Masks
    tokens: Tokens
    targets: Floats
    classes: bool
    public: list[str] | None
    notes: dict[str, Any]
    """what the defense says of a release"""


class ClientRound:
    """Makes the updates when they are asked for; the same ones each time."""

    def __init__(
        self,
        model: RoundModel,
        held: Weights,
        tokenizer: Any,
        max_length: int,
        mine: Holdings,
        how: Update,
        batch: int,
        seed: int,
        words: tuple[Any, ...],
    ):
        self.model, self.held, self.tokenizer, self.max_length = model, held, tokenizer, max_length
        self.mine, self.how, self.batch = mine, how, batch
        self._seed, self._words = seed, words
        """what the randomness depends on"""
        learnt = [*model.trained, *model.head]
        sent = set(shared(model.architecture, learnt, how.share))
        if (most := getattr(mine.defense, "sharing", "all")) != "all":
            sent &= set(shared(model.architecture, learnt, most))
        if not sent:
            raise UsageError(f"--update share={how.share} and defense {mine.name!r} leave nothing to send")
        if how.difference and self._clip:
            raise UsageError(f"defense {mine.name!r} clips the gradients of one step: leave out steps and optimizer")
        self._sent = {name: value for name, value in model.parameters().items() if name in sent}
        for name, value in model.parameters().items():
            value.requires_grad_(name in sent)

    @property
    def architecture(self) -> Architecture:
        return self.model.architecture

    @property
    def difference(self) -> bool:
        return self.how.difference

    @cached_property
    def lowest(self) -> int | None:
        return min((int(name.split(".")[1]) for name in self._sent if name.startswith("layer.")), default=None)

    def named(self, tensor: str) -> str:
        """`first` and `second` are the lowest layer that is shared and the one above it, `last` is the top one."""
        place, _, rest = tensor.partition(".")
        if place not in ("first", "second", "last") or self.lowest is None:
            return tensor
        number = self.architecture.layers - 1 if place == "last" else self.lowest + (place == "second")
        return f"layer.{number}.{rest}"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(value.shape) for name, value in self._sent.items()}

    def __len__(self) -> int:
        return len(self.mine.tokens) // self.batch

    @property
    def notes(self) -> dict[str, Any]:
        longest = sum(len(ids) >= self.max_length for ids in self.mine.tokens.ids)
        cut = {"cut": f"{longest} sentences have the longest length, {self.max_length} tokens"} if longest else {}
        return {**self.mine.notes, **cut}

    def updates(self, names: list[str]) -> Iterator[dict[str, Floats]]:
        for number in range(len(self)):
            rows = np.arange(number * self.batch, (number + 1) * self.batch)
            with one_thread(self.model.device):
                found = self._changed(rows, number) if self.difference else self._gradient(rows, number, names)
            yield {name: self._altered(name, self._rounded(found[name]), number) for name in names}

    def public_texts(self, number: int, count: int) -> list[str]:
        """The public sentences that a batch may mix in."""
        if self.mine.public is None:
            return []
        rng = generator(self._seed, "public sentences of an update", number, *self._words)
        rows = rng.choice(len(self.mine.public), min(count, len(self.mine.public)), replace=False)
        return [self.mine.public[i] for i in rows]

    def _gradient(self, rows: Ints, number: int, names: list[str]) -> Weights:
        import torch

        if not names:
            return {}
        losses = self._losses(rows, number, 0)
        if self._clip:
            each = (
                torch.autograd.grad(loss, list(self._sent.values()), retain_graph=True, materialize_grads=True)
                for loss in losses
            )
            named = (dict(zip(self._sent, parts, strict=True)) for parts in each)
            clipped = mean_of_clipped(named, len(losses), self._clip)
            return {name: clipped[name] for name in names}
        loss = losses.mean()
        found = torch.autograd.grad(loss, [self._sent[name] for name in names], allow_unused=True)
        zeros = (torch.zeros_like(self._sent[name]) for name in names)
        return {name: zero if grad is None else grad for name, grad, zero in zip(names, found, zeros, strict=True)}

    def _changed(self, rows: Ints, number: int) -> Weights:
        """The weights before the local steps less those after them: a sum of gradients times rates, for SGD."""
        import torch

        start = {name: value.detach().clone() for name, value in self._sent.items()}
        kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[self.how.optimizer]
        optimizer = kind(self._sent.values(), lr=self.how.rate, weight_decay=0.0)
        for step, some in enumerate(np.array_split(rows, self.how.steps)):
            optimizer.zero_grad(set_to_none=True)
            self._losses(some, number, step).mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            found = {name: start[name] - value.detach() for name, value in self._sent.items()}
            for name, value in self._sent.items():
                value.copy_(start[name])
        return found

    def _losses(self, rows: Ints, number: int, step: int) -> Tensor:
        """The loss of each item that the defense makes of these sentences."""
        import torch
        from torch.nn import functional as F

        mine, dropout = self.mine, self.how.dropout
        rng = generator(self._seed, "update", number, step, *self._words)
        with torch.random.fork_rng(devices=[] if self.model.device == "cpu" else None):
            torch.manual_seed(entropy(self._seed, "dropout of an update", number, step, *self._words) % (1 << 63))
            vectors = self.model.vectors(mine.tokens, rows, dropout)
            if not vectors.requires_grad:  # only the head learns
                vectors = vectors.detach().requires_grad_()
            public = self._public(number, len(rows))
            try:
                encodings, labels, _, _ = clients.release(
                    mine.defense, mine.name, vectors, mine.targets[rows], mine.masks, public, rng
                )
            except UsageError as error:
                raise UsageError(f"in a batch of {len(rows)}: {error}, or raise --batch") from error
            out = self.model.answer(encodings, dropout)
        if mine.classes:
            return F.cross_entropy(out, labels, reduction="none")
        return (out - labels).square().mean(dim=1)

    def _public(self, number: int, count: int) -> Corpus | None:
        """Public sentences, encoded by the model that learns: their tokens are in the update, too."""
        if self.mine.public is None:
            return None
        texts = self.public_texts(number, count)
        tokens = Tokens(self.tokenizer, texts, self.max_length)
        vectors: Any = self.model.vectors(tokens, np.arange(len(texts)), self.how.dropout)
        return Corpus(texts, vectors, self.model.device)

    @property
    def _clip(self) -> float:
        clip: float = getattr(self.mine.defense, "clip", 0.0) if hasattr(self.mine.defense, "altered") else 0.0
        return clip

    def _altered(self, name: str, value: Floats, number: int) -> Floats:
        """What a defense of updates makes of a tensor."""
        if not hasattr(self.mine.defense, "altered"):
            return value
        rng = generator(self._seed, "defense of an update", number, name, *self._words)
        changed: Floats = self.mine.defense.altered(name, value, self.batch, rng)
        return changed

    def _rounded(self, value: Tensor) -> Floats:
        import torch

        if self.how.precision in _PRECISIONS:
            value = value.to(getattr(torch, _PRECISIONS[self.how.precision]))
        found: Floats = value.detach().float().cpu().numpy()
        return found


def mean_of_clipped(gradients: Iterable[Weights], count: int, most: float) -> Weights:
    """The mean of so many items' gradients, each cut to a norm over all that is sent."""
    import torch

    mean: Weights = {}
    for gradient in gradients:
        norm = torch.stack([value.norm() for value in gradient.values()]).norm()
        factor = (most / norm).clamp(max=1.0) / count
        for name, value in gradient.items():
            mean[name] = mean[name].add_(factor * value) if name in mean else factor * value
    return mean


def shared(architecture: Architecture, learnt: list[str], share: str) -> list[str]:
    """Which of the weights that learn are trained and sent."""
    word, _, count = share.partition(":")
    lowest = {"head": math.inf, "top": architecture.layers - int(count or 0)}.get(word, 0)
    if lowest < 0:
        raise UsageError(f"share={share}: the encoder has {architecture.layers} layers; take share=layers for all")

    def goes(name: str) -> bool:
        if name.startswith("head"):
            return word != "encoder"
        if name.startswith("layer."):
            return int(name.split(".")[1]) >= lowest
        if name.startswith("pooler."):
            return word != "head"
        return word in ("all", "encoder") or (word == "layers" and name == "relative")

    found = [name for name in learnt if goes(name)]
    if not found:
        raise UsageError(f"share={share}: nothing of that learns in this training; choose another share")
    return found
