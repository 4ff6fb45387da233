"""Adam on many independent problems at once: its arithmetic is coordinate by coordinate, so nothing couples them."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.attacks.common.lbfgs import Ended, Minimum, Objective, Watch


def descend(objective: Objective, start: Tensor, iterations: int, rate: float, watch: Watch | None = None) -> Minimum:
    """The best points met in so many iterations; a problem whose loss is no number any more leaves with what it has."""
    x = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([x], lr=rate)
    rows = torch.arange(len(x), device=x.device)
    best, best_loss = start.clone(), torch.full_like(start[:, 0], torch.inf)
    ended = torch.full_like(rows, Ended.BUDGET)
    for iteration in range(1, iterations + 1):
        loss, gradient = objective(x.detach(), rows)
        broken = ~(torch.isfinite(loss) & torch.isfinite(gradient).all(1))
        ended[broken] = Ended.BROKEN
        better = loss < best_loss
        best[better], best_loss[better] = x.detach()[better], loss[better]
        if bool(broken.all()):
            break
        x.grad = gradient.masked_fill(broken[:, None], 0.0)
        if watch:
            watch(iteration, rows, x.detach(), loss)
        optimizer.step()
    return Minimum(best, best_loss, ended, torch.full_like(rows, iteration), iteration * len(rows))
