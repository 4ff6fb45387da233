"""One step of a federated training: what the clients release, what the model makes of it, what it learns from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats, Ints
from bench.plugins.training import Finetuned
from bench.system.seeds import entropy, generator
from bench.toolkit.corpus import Corpus
from bench.training import clients
from bench.training.clients import Exposure, Masks
from bench.training.model import Model
from bench.training.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

# Gradients are cut to this norm, as in the authors' training script.
MAX_NORM = 1.0
WARMUP = 0.1


@dataclass(frozen=True)
class Side:
    """What the clients hold."""

    defense: Any
    name: str
    masks: Masks
    parts: list[Ints]
    """rows of each client's examples"""
    tokens: Tokens
    targets: Floats
    public: Tokens | None
    exposure: Exposure


class Trainer:
    """The model with its optimiser; a step's randomness depends on its number alone, so that a run can be resumed."""

    def __init__(self, model: Model, side: Side, options: Finetuned, classes: bool, seed: int, words: tuple[Any, ...]):
        self.model, self.side, self.options, self.classes = model, side, options, classes
        self.seed, self.words = seed, words
        """what the randomness depends on: the seed; fingerprint of the data, then defense and its options"""
        self.per_epoch = clients.steps_of_epoch(side.parts, options.batch)
        self.total = self.per_epoch * options.epochs
        self.masks = [side.masks.share(c, options.clients) for c in range(options.clients)]
        self.notes: dict[str, Any] = {}
        self.optimizer = self._optimizer(model)

    def batches(self, epoch: int) -> list[list[Ints]]:
        """For each client its batches of an epoch: the same ones whatever the defense."""
        return [
            clients.batches(part, self.per_epoch, generator(self.seed, "batches", epoch, client, *self.words[:1]))
            for client, part in enumerate(self.side.parts)
        ]

    def step(self, rows: list[Ints], number: int) -> float:
        """One gradient, averaged over the clients' examples; the loss."""
        self._set_rates(self.optimizer, number)
        loss = self.loss(dict(enumerate(rows)), number)
        self._descend(self.optimizer, loss)
        return float(loss.detach())

    def round(self, some: list[list[Ints]], number: int) -> float:
        """Every client takes its own steps from the server's weights; the server averages what they end with."""
        start, losses = self.model.snapshot(), []
        sums: dict[str, Tensor] = {}
        counts = [sum(map(len, batches)) for batches in some]
        for client, batches in enumerate(some):
            self.model.restore(start)
            optimizer = self._optimizer(self.model)  # clients keep no state between rounds
            for at, rows in enumerate(batches):
                self._set_rates(optimizer, number + at)
                loss = self.loss({client: rows}, number + at)
                self._descend(optimizer, loss)
                losses.append(float(loss.detach()))
            share = counts[client] / sum(counts)
            for name, value in self.model.snapshot().items():
                sums[name] = sums[name] + share * value if name in sums else share * value
        self.model.restore(sums)
        return float(np.mean(losses))

    def loss(self, rows: dict[int, Ints], number: int, reduction: str = "mean") -> Tensor:
        """The mean loss over what these clients release of these examples; `none`: the loss of each item."""
        import torch
        from torch.nn import functional as F

        rows = {client: some for client, some in rows.items() if len(some)}
        rng = generator(self.seed, "step", number, *rows, *self.words)
        with torch.random.fork_rng(devices=[] if self.model.device == "cpu" else None):
            torch.manual_seed(entropy(self.seed, "dropout", number, *rows, *self.words) % (1 << 63))
            vectors = self.vectors(np.concatenate(list(rows.values())))
            encodings, labels, owners, at = [], [], [], 0
            for client, some in rows.items():
                mine = vectors[at : at + len(some)]
                found = clients.release(
                    self.side.defense,
                    self.side.name,
                    mine,
                    self.side.targets[some],
                    self.masks[client],
                    self._public(len(some), rng),
                    rng,
                )
                encodings.append(found[0])
                labels.append(found[1])
                owners.append(at + found[2].owner)
                at += len(some)
                self.side.exposure.add(some, found[2])
                self.notes = found[3]
            out = self.answer(torch.cat(encodings), np.concatenate(owners))
        wanted = torch.cat(labels)
        if self.classes:
            return F.cross_entropy(out, wanted, reduction=reduction)
        return F.mse_loss(out, wanted) if reduction == "mean" else (out - wanted).square().mean(dim=1)

    def vectors(self, rows: Ints) -> Tensor:
        return self.model.vectors(self.side.tokens, rows, self.options.dropout)

    def answer(self, encodings: Tensor, owners: Ints) -> Tensor:
        """The head's scores of items, each made for one of the batch's examples."""
        return self.model.answer(encodings, self.options.dropout)

    def _public(self, count: int, rng: np.random.Generator) -> Corpus | None:
        """A batch of public sentences, encoded by the model as it is now."""
        if self.side.public is None:
            return None
        rows = rng.choice(len(self.side.public), min(count, len(self.side.public)), replace=False)
        vectors: Any = self.model.vectors(self.side.public, rows, self.options.dropout)
        return Corpus([""] * len(rows), vectors, self.model.device)

    def _optimizer(self, model: Model) -> Any:
        import torch

        groups = [
            {"params": [model.weights[name] for name in model.trained], "highest": self.options.rate},
            {"params": list(model.head.values()), "highest": self.options.head_rate},
        ]
        if self.options.optimizer == "sgd":
            return torch.optim.SGD(groups, lr=0.0)
        return torch.optim.AdamW(groups, lr=0.0, weight_decay=0.0, fused=True)

    def _set_rates(self, optimizer: Any, number: int) -> None:
        warm = max(1, int(WARMUP * self.total))
        factor = min((number + 1) / warm, (self.total - number) / max(1, self.total - warm))
        for group in optimizer.param_groups:
            group["lr"] = group["highest"] * max(0.0, min(1.0, factor))

    def _descend(self, optimizer: Any, loss: Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._cut()
        optimizer.step()

    def _cut(self) -> None:
        import torch

        torch.nn.utils.clip_grad_norm_(self.model.parameters().values(), MAX_NORM)
