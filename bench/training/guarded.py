"""Training through a defense of updates: what it does not share does not learn; the rest learns from what it sends."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Ints
from bench.errors import UsageError
from bench.plugins.training import Finetuned
from bench.system.seeds import generator
from bench.training.model import BLOCK, Model
from bench.training.rounds import Side, Trainer
from bench.training.tokens import by_length
from bench.training.updates import mean_of_clipped, shared

if TYPE_CHECKING:
    from torch import Tensor

    from bench.training.per_item import Taps

    Weights = dict[str, Tensor]


class GuardedTrainer(Trainer):
    """Every step is one round, and its gradient what the defense makes of it."""

    def __init__(self, model: Model, side: Side, options: Finetuned, classes: bool, seed: int, words: tuple[Any, ...]):
        super().__init__(model, side, options, classes, seed, words)
        if options.local_steps > 1:
            raise UsageError(f"defense {side.name!r} is one of gradients: leave out local_steps={options.local_steps}")
        names = set(shared(model.architecture, list(model.parameters()), side.defense.sharing))
        for name, value in model.parameters().items():
            value.requires_grad_(name in names)
        self.sent = {name: value for name, value in model.parameters().items() if name in names}
        self._inner = [name for name in self.sent if name not in model.head]
        self._taps = _taps(self.sent) if side.defense.clip and self._come_apart() else None
        self._each: list[Tensor] = []
        self._joined: Tensor | None = None
        self._fixed: Tensor | None = None
        # An example is in one batch of each epoch.
        self._claims = side.defense.notes(rounds=options.epochs)

    @property
    def in_one_pass(self) -> bool:
        """Whether clipping takes one backward pass for all items, in place of one for each."""
        return self._taps is not None

    def one_by_one(self) -> None:
        """The same the slow way, to compare."""
        self._taps = None

    def _come_apart(self) -> bool:
        """Whether every layer that is sent sees rows that belong to one item each."""
        if self.model.shared or "relative" in self.sent:  # used several times for an item, or for all items at once
            return False
        if not self._inner:
            return True
        if self.side.public is not None:
            return False
        each, batch = self.side.targets.shape[1], self.options.batch
        made_up = np.ones((batch, self.model.architecture.dim), np.float32)
        _, key = self.side.defense.release(made_up, np.zeros((batch, each), np.float32), None, np.random.default_rng(0))
        return bool(key.members.shape[1] == 1)

    def step(self, rows: list[Ints], number: int) -> float:
        self._set_rates(self.optimizer, number)
        losses = self.loss(dict(enumerate(rows)), number, reduction="none")
        sent = self.update(self.gradient(losses), len(losses), number)
        self.notes |= self._claims
        self.optimizer.zero_grad(set_to_none=True)
        for name, value in sent.items():
            self.sent[name].grad = value
        self._cut()
        self.optimizer.step()
        return float(losses.detach().mean())

    def loss(self, rows: dict[int, Ints], number: int, reduction: str = "mean") -> Tensor:
        with self._taps or nullcontext():
            return super().loss(rows, number, reduction)

    def gradient(self, losses: Tensor) -> Weights:
        """Of the mean loss; where the defense clips, the mean of the items' gradients, each cut to a norm over all that
        is sent."""
        if not self.side.defense.clip:
            return self._gradient(losses.mean(), retain=False)
        if self._taps is not None:
            return self._taps.mean_of_cut(losses, self.side.defense.clip)
        each = (self._gradient(loss, retain=True) for loss in losses)
        return mean_of_clipped(each, len(losses), self.side.defense.clip)

    def update(self, gradient: Weights, items: int, number: int) -> Weights:
        """What the defense sends of it."""
        import torch

        found = {}
        for name, value in gradient.items():
            rng = generator(self.seed, "defense of an update", number, name, *self.words)
            sent = self.side.defense.altered(name, value.cpu().numpy(), items, rng)
            found[name] = torch.as_tensor(np.asarray(sent), device=value.device)
        return found

    def vectors(self, rows: Ints) -> Tensor:
        if not self._inner:
            return self._constant(rows)
        return self._cut_off(rows) if self._taps is None else self._tapped(rows, self._taps)

    def answer(self, encodings: Tensor, owners: Ints) -> Tensor:
        import torch

        if self._taps is not None:
            items = owners if self._inner else np.arange(len(owners))
            self._taps.expect(torch.as_tensor(items, device=self.model.device))
        return super().answer(encodings, owners)

    def _constant(self, rows: Ints) -> Tensor:
        """Of an encoder that does not learn, and where nothing is dropped: computed once."""
        import torch

        if self._fixed is None:
            mine = np.concatenate(self.side.parts)
            fixed = np.zeros((len(self.side.tokens), self.model.architecture.dim), np.float32)
            fixed[mine] = self.model.encode(self.side.tokens, mine)
            self._fixed = torch.as_tensor(fixed, device=self.model.device)
        self._joined = self._fixed[torch.as_tensor(rows, device=self.model.device)].requires_grad_()
        return self._joined

    def _tapped(self, rows: Ints, taps: Taps) -> Tensor:
        """Block by block of about equal length, so that little of a block is padding."""
        import torch

        model, tokens = self.model, self.side.tokens
        places = {int(row): at for at, row in enumerate(rows)}
        found = []
        order = by_length(tokens, rows, BLOCK)
        for some in order:
            here = torch.as_tensor([places[int(row)] for row in some], device=model.device)
            lengths = torch.as_tensor([len(tokens.ids[row]) for row in some], device=model.device)
            taps.expect(here, here.repeat_interleave(lengths))
            found.append(super().vectors(some))
        back = np.argsort([places[int(row)] for row in np.concatenate(order)])
        return torch.cat(found)[torch.as_tensor(back, device=model.device)]

    def _cut_off(self, rows: Ints) -> Tensor:
        """Cut off from the encoder, whose gradients are taken later.

        To clip items, sentence by sentence: a graph for each costs about as much as one for all of them, while taking
        an item's gradient out of the graph of all costs as much as all gradients.
        """
        import torch

        parts = [rows[at : at + 1] for at in range(len(rows))] if self.side.defense.clip else [rows]
        self._each = [super(GuardedTrainer, self).vectors(part) for part in parts]
        self._joined = torch.cat(self._each).detach().requires_grad_()
        return self._joined

    def _gradient(self, loss: Tensor, retain: bool) -> Weights:
        """In what is sent: of the head, and through the vectors, as many as the loss depends on, of the encoder."""
        import torch

        assert self._joined is not None
        head = {name: value for name, value in self.sent.items() if name in self.model.head}
        grads = torch.autograd.grad(loss, [self._joined, *head.values()], retain_graph=retain, materialize_grads=True)
        found = dict(zip(head, grads[1:], strict=True))
        inner = {name: self.sent[name] for name in self._inner}
        if not inner:
            return found
        found |= {name: torch.zeros_like(value) for name, value in inner.items()}
        at = 0
        for vectors in self._each:
            grad, at = grads[0][at : at + len(vectors)], at + len(vectors)
            if not grad.any():
                continue
            parts = torch.autograd.grad(vectors, list(inner.values()), grad, retain_graph=retain, allow_unused=True)
            for name, part in zip(inner, parts, strict=True):
                if part is not None:
                    found[name] += part
        return found


def _taps(sent: Weights) -> Taps:
    from bench.training.per_item import Taps

    return Taps(sent)
