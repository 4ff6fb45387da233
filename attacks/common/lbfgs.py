"""L-BFGS on many independent problems at once, each with its own memory, step size and stopping.

One problem follows torch.optim.LBFGS step for step, its outer `step()` calls included; torch's own class would couple
problems that share a tensor through its dot products. Instead of torch's two loops over the history, the direction
comes from the same recursion in coefficients, so that the memory of all problems is read in two batched products an
iteration. The recursion's triangular matrix R (the products s_i · y_j with i no younger than j) is kept inverted: a new
pair adds a column to the inverse, an old one leaves it by taking its row and column along. So slots need no order.
Memory: 2 · history · n values a problem.

A problem leaves the batch when torch's loop could not move it any more (`Ended`), or when its steps are used up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import torch
from torch import Tensor

from bench.attacks.common.wolfe import search

# Objective: points b × n and the numbers of their problems → losses b and gradients b × n.
Objective = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
# Called after every iteration with: iteration, problems still in, their points and losses.
Watch = Callable[[int, Tensor, Tensor, Tensor], None]

# A pair of steps and gradient changes enters the memory if its product is above this, as in torch.
CURVATURE = 1e-10


class Ended(IntEnum):
    """Why a problem left. After FLAT and STATIONARY torch would stay at this point for ever, after BROKEN at NaN."""

    RUNNING = 0
    BUDGET = 1
    FLAT = 2
    """no entry of the gradient above `tolerance_grad`"""
    STATIONARY = 3
    """the direction promises less than `tolerance_change`"""
    BROKEN = 4
    """the loss or the gradient is not a finite number"""


@dataclass(frozen=True)
class LBFGSSettings:
    """torch.optim.LBFGS's, and how many times its step() is called."""

    steps: int = 1200
    inner: int = 20
    history: int = 100
    rate: float = 1.0
    line_search: Literal["none", "strong-wolfe"] = "none"
    tolerance_grad: float = 1e-7
    tolerance_change: float = 1e-9

    @property
    def most_evaluations(self) -> int:
        """in one step, which only a line search can reach; torch's default"""
        return self.inner * 5 // 4


@dataclass(frozen=True)
class Minimum:
    """Per problem: the best point that was met, its loss, and how it went."""

    best: Tensor
    loss: Tensor
    ended: Tensor
    iterations: Tensor
    evaluations: int


def minimise(objective: Objective, start: Tensor, settings: LBFGSSettings, watch: Watch | None = None) -> Minimum:
    """Run every row of `start` (B × n) to its own end."""
    return _Batch(objective, start, settings, watch).run()


class _Batch:
    """Arrays have a row for each problem still in, the first `live` ones: one that leaves gives its row to the last."""

    def __init__(self, objective: Objective, start: Tensor, settings: LBFGSSettings, watch: Watch | None):
        self.objective, self.set, self.watch = objective, settings, watch
        b, n = start.shape
        h = settings.history
        like: dict[str, Any] = {"dtype": start.dtype, "device": start.device}
        small: dict[str, Any] = {"dtype": torch.float64, "device": start.device}
        count: dict[str, Any] = {"dtype": torch.int64, "device": start.device}
        self.best, self.best_loss = start.clone(), torch.full((b,), torch.inf, **like)
        self.ended, self.iterations = torch.zeros(b, **count), torch.zeros(b, **count)
        self.evaluations = 0
        self.live = b
        self.rows: dict[str, Tensor] = {
            "number": torch.arange(b, **count),
            "x": start.clone(),
            "gradient": torch.zeros(b, n, **like),
            "previous": torch.zeros(b, n, **like),
            "direction": torch.zeros(b, n, **like),
            "change": torch.zeros(b, n, **like),
            "step": torch.zeros(b, **like),
            "loss": torch.zeros(b, **like),
            "scale": torch.ones(b, **small),
            "s": torch.zeros(b, h, n, **like),
            "y": torch.zeros(b, h, n, **like),
            "inverse": torch.zeros(b, h, h, **small),
            "diagonal": torch.zeros(b, h, **small),
            "yy": torch.zeros(b, h, h, **small),
            "filled": torch.zeros(b, **count),
            "head": torch.zeros(b, **count),
            "age": torch.zeros(b, **count),
            "in_step": torch.zeros(b, **count),
            "calls": torch.zeros(b, **count),
            "spent": torch.ones(b, **count),
        }

    def __getattr__(self, name: str) -> Tensor:
        """The live rows of an array."""
        rows: dict[str, Tensor] = self.__dict__.get("rows", {})
        if name not in rows:
            raise AttributeError(name)
        return rows[name][: self.live]

    def run(self) -> Minimum:
        loss, gradient = self._evaluate(self.x, self.number)
        self.loss[:], self.gradient[:] = loss, gradient
        self._keep_best()
        self._leave(self._judge(torch.zeros_like(self.age, dtype=torch.bool)))
        while self.live:
            self._iterate()
        return Minimum(self.best, self.best_loss, self.ended, self.iterations, self.evaluations)

    def _evaluate(self, x: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        self.evaluations += len(x)
        return self.objective(x, number)

    def _iterate(self) -> None:
        self.age.add_(1)
        self.in_step.add_(1)
        first = self.age == 1
        self._remember(~first)
        self._direct()
        self.previous[:] = self.gradient
        slow = (1.0 / self.gradient.abs().sum(1)).clamp(max=1.0)
        self.step[:] = torch.where(first, slow, torch.ones_like(slow)) * self.set.rate
        slope = (self.gradient * self.direction).sum(1)
        flat = slope > -self.set.tolerance_change
        before = self.loss.clone()
        # Problems without a direction stay where they are and leave below; a step of 0 is torch's break.
        if self.set.line_search == "none":
            self.x.add_(torch.where(flat, 0.0, self.step)[:, None] * self.direction)
            loss, gradient = self._evaluate(self.x, self.number)
            self.loss[:], self.gradient[:] = loss, gradient
            self.spent.add_(1)
        else:
            self._line_search(slope, ~flat)
        self._keep_best()
        self.iterations[self.number] = self.age
        if self.watch:
            self.watch(int(self.age.max()), self.number, self.x, self.loss)
        self._count_steps(before)
        self._leave(self._judge(flat))

    def _remember(self, may: Tensor) -> None:
        """Take the last move into the memory, in place of the oldest one where it is full."""
        torch.sub(self.gradient, self.previous, out=self.change)
        move = self.direction * self.step[:, None]
        product = (self.change * move).sum(1)
        at = torch.nonzero(may & (product > CURVATURE))[:, 0]
        slot = self.head[at]
        self.s[at, slot], self.y[at, slot] = move[at], self.change[at]
        self.head[at] = (slot + 1) % self.set.history
        self.filled[at] = (self.filled[at] + 1).clamp(max=self.set.history)
        self.scale[at] = (product[at] / (self.change[at] * self.change[at]).sum(1)).double()
        self.fresh = (at, slot)

    def _products(self, used: int) -> tuple[Tensor, Tensor]:
        """Sᵀg and Yᵀg; on the way, in the same pass over the memory, what the newest pair adds to R⁻¹ and YᵀY."""
        both = torch.stack([self.gradient, self.change], 1)
        # Rows times a transpose: torch's batched matrix-vector product is five times slower.
        s, y = (torch.bmm(both, past[:, :used].transpose(1, 2)).double() for past in (self.s, self.y))
        at, slot = self.fresh
        if len(at):
            self.yy[at, :used, slot] = y[at, 1]
            self.yy[at, slot, :used] = y[at, 1]
            column, one = s[at, 1], torch.arange(len(at), device=at.device)
            own = column[one, slot]
            column[one, slot] = 0.0
            # The pair that was in this slot goes first, with its row and column.
            self.inverse[at, slot] = 0.0
            self.inverse[at, :, slot] = 0.0
            above = torch.bmm(self.inverse[:, :used, :used][at], column[:, :, None])[:, :, 0]
            self.inverse[at, :used, slot] = -above / own[:, None]
            self.inverse[at, slot, slot] = 1 / own
            self.diagonal[at, slot] = own
        return s[:, 0, :, None], y[:, 0, :, None]

    def _direct(self) -> None:
        """direction = −H · gradient. With D the diagonal of R and γ the scale: a = −R⁻¹ Sᵀg (torch's first loop),
        q = −g − Y a, c = R⁻ᵀ (D a − γ Yᵀq) (its second), direction = γ q + S c. Empty slots are zero throughout."""
        used = int(self.filled.max())
        scale = self.scale[:, None, None]
        torch.mul(self.gradient, -self.scale[:, None].to(self.gradient.dtype), out=self.direction)
        if not used:
            return
        sg, yg = self._products(used)
        inverse = self.inverse[:, :used, :used]
        a = torch.bmm(inverse, -sg)
        yq = -yg - torch.bmm(self.yy[:, :used, :used], a)
        c = torch.bmm(inverse.transpose(1, 2), self.diagonal[:, :used, None] * a - scale * yq)
        for past, weight in ((self.s, c), (self.y, -scale * a)):
            row = weight.transpose(1, 2).to(self.gradient.dtype)
            self.direction.unsqueeze(1).baddbmm_(row, past[:, :used])

    def _line_search(self, slope: Tensor, moves: Tensor) -> None:
        """Each problem's own search; those that still ask are evaluated together."""
        longest = self.direction.abs().amax(1)
        asking: dict[int, tuple[Any, float]] = {}
        for i in torch.nonzero(moves)[:, 0].tolist():
            one = search(
                float(self.step[i]),
                float(self.loss[i]),
                self.gradient[i].clone(),
                float(slope[i]),
                float(longest[i]),
                self.set.tolerance_change,
                self.set.most_evaluations - int(self.spent[i]),
            )
            asking[i] = (one, next(one))
        while asking:
            at = torch.tensor(list(asking), device=self.x.device)
            steps = torch.tensor([t for _, t in asking.values()], dtype=self.x.dtype, device=self.x.device)
            loss, gradient = self._evaluate(self.x[at] + steps[:, None] * self.direction[at], self.number[at])
            slopes = (gradient * self.direction[at]).sum(1).tolist()
            self.spent[at] += 1
            still: dict[int, tuple[Any, float]] = {}
            for j, (i, (one, _)) in enumerate(asking.items()):
                try:
                    still[i] = (one, one.send((float(loss[j]), gradient[j], slopes[j])))
                except StopIteration as stop:
                    self.loss[i], self.gradient[i], self.step[i] = stop.value
                    self.x[i] += self.step[i] * self.direction[i]
            asking = still

    def _count_steps(self, before: Tensor) -> None:
        """Where torch's step() would return: inner iterations or evaluations used up, or hardly any change."""
        small = (self.direction * self.step[:, None]).abs().amax(1) <= self.set.tolerance_change
        small |= (self.loss - before).abs() < self.set.tolerance_change
        over = (self.in_step >= self.set.inner) | small
        if self.set.line_search != "none":
            over |= self.spent >= self.set.most_evaluations
        self.calls[over] += 1
        self.in_step[over] = 0
        self.spent[over] = 1

    def _judge(self, stationary: Tensor) -> Tensor:
        why = torch.full_like(self.age, Ended.RUNNING)
        why[self.calls >= self.set.steps] = Ended.BUDGET
        why[stationary] = Ended.STATIONARY
        largest = self.gradient.abs().amax(1)
        why[largest <= self.set.tolerance_grad] = Ended.FLAT
        why[~(torch.isfinite(self.loss) & torch.isfinite(largest))] = Ended.BROKEN
        return why

    def _keep_best(self) -> None:
        better = torch.nonzero(self.loss < self.best_loss[self.number])[:, 0]
        number = self.number[better]
        self.best[number], self.best_loss[number] = self.x[better], self.loss[better]

    def _leave(self, why: Tensor) -> None:
        """Rows of problems that have ended are filled with the last ones, so that the others stay in one block."""
        for i in reversed(torch.nonzero(why != Ended.RUNNING)[:, 0].tolist()):
            self.ended[self.number[i]] = why[i]
            last = self.live - 1
            if i != last:
                for array in self.rows.values():
                    array[i] = array[last]
            self.live = last
