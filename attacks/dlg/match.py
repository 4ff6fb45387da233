"""Runs gradient matching on a view: what is unknown, where to start, which optimiser, what to answer."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from bench import Guess, View
from bench.attacks.common.adam import descend
from bench.attacks.common.lbfgs import Ended, LBFGSSettings, Minimum, Watch, minimise
from bench.attacks.common.scheme import Scheme, learn
from bench.attacks.dlg.matching import GradientMatching, Unknown

if TYPE_CHECKING:
    from bench.attacks.dlg import DLG

# Items whose way is kept for curves, and points of it, evenly spaced on a logarithmic scale.
TRAILS, POINTS = 16, 48
# Sentences named for each item of text.
TOP = 16
# Vectors that the attacker lets the scheme release to see what it does to them.
TRIAL = 64


def match(view: View, options: DLG, rng: np.random.Generator) -> Guess:
    model = view.model
    scheme = _scheme(view, rng)
    # Behind a frozen encoder only the masked mix reaches the model: there is nothing else to tell apart.
    pictures = bool(model.picture)
    unknown = Unknown(
        dummies=scheme.k if options.dummies == "k" and pictures else 1,
        mask=pictures and (options.mask == "learn" or (options.mask == "auto" and scheme.masked)),
        label=not options.label_known,
    )
    labels = view.labels if options.label_known else None
    dtype = getattr(torch, options.precision)
    problem = GradientMatching(model, view.gradients, labels, unknown, dtype, view.device)
    start = rng.standard_normal((options.restarts, problem.items, sum(problem.sizes().values())))
    trail = _Trail(problem, options.steps * options.inner)
    found = [_attack(view, problem, first, options, trail if not i else None, i) for i, first in enumerate(start)]
    loss = torch.stack([one.loss for one in found])
    trail.end(found[0])
    at = loss.argmin(0)
    best = torch.stack([one.best for one in found])[at, torch.arange(problem.items)]
    details = _details(found, loss.amin(0))
    inputs = problem.inputs(best)
    if not pictures:
        return Guess(ranking=view.corpus.search(inputs[:, 0], TOP), details=details)
    return Guess(images=inputs, details=details, trail=trail.arrays())


def _scheme(view: View, rng: np.random.Generator) -> Scheme:
    """From a release of random vectors: the attacker has no others of the model's size."""
    vectors = rng.standard_normal((TRIAL, view.model.dim)).astype(np.float32)
    return learn(view, vectors, np.zeros((TRIAL, view.model.outputs), np.float32), rng)


def _attack(
    view: View, problem: GradientMatching, start: Any, options: DLG, trail: _Trail | None, attempt: int
) -> Minimum:
    """One attempt at every item, `batch` of them at a time."""
    found: list[Minimum] = []
    for at in range(0, len(start), options.batch):
        rows = torch.arange(at, min(at + options.batch, len(start)), device=view.device)
        first = torch.tensor(start[at : at + options.batch], **problem.like)
        watch = _watch(view, rows, options, trail, attempt)

        def objective(x: torch.Tensor, number: torch.Tensor, rows: torch.Tensor = rows) -> Any:
            return problem(x, rows[number])

        if options.optimizer == "adam":
            found.append(descend(objective, first, options.steps * options.inner, options.rate or 0.1, watch))
            continue
        settings = LBFGSSettings(options.steps, options.inner, options.history, options.rate or 1.0, options.search)
        found.append(minimise(objective, first, settings, watch))
    joined = {n: torch.cat([getattr(one, n) for one in found]) for n in ("best", "loss", "ended", "iterations")}
    return Minimum(evaluations=sum(one.evaluations for one in found), **joined)


def _watch(view: View, rows: torch.Tensor, options: DLG, trail: _Trail | None, attempt: int) -> Watch:
    total, last = options.steps * options.inner, [0.0]
    tries = f"attempt {attempt + 1}, " if options.restarts > 1 else ""

    def watch(iteration: int, number: torch.Tensor, x: torch.Tensor, loss: torch.Tensor) -> None:
        if trail is not None:
            trail.add(iteration, rows[number], x, loss)
        if time.monotonic() - last[0] > 10:
            last[0] = time.monotonic()
            view.stage(f"{tries}iteration {iteration:,} of {total:,}, {len(number)} of {len(rows)} attacks going on")

    return watch


class _Trail:
    """Iterates of the first items, at iterations spaced evenly on a logarithmic scale."""

    def __init__(self, problem: GradientMatching, total: int):
        self.problem = problem
        self.steps = np.unique(np.geomspace(1, total, POINTS).round().astype(np.int64))
        self.place = {int(step): i for i, step in enumerate(self.steps)}
        self.count = min(TRAILS, problem.items)
        size = sum(problem.sizes().values())
        self.points = torch.full((self.count, len(self.steps), size), torch.nan)
        self.distance = torch.full((self.count, len(self.steps)), torch.nan)

    def add(self, iteration: int, item: torch.Tensor, x: torch.Tensor, loss: torch.Tensor) -> None:
        at = self.place.get(iteration)
        if at is None:
            return
        kept = item < self.count
        self.points[item[kept].cpu(), at] = x[kept].float().cpu()
        self.distance[item[kept].cpu(), at] = loss[kept].float().cpu()

    def end(self, found: Minimum) -> None:
        """Where those that left early came to, at the next point of the scale; after it there is nothing."""
        place = np.searchsorted(self.steps, found.iterations[: self.count].cpu().numpy())
        item, at = torch.arange(self.count), torch.tensor(place).clamp(max=len(self.steps) - 1)
        gone = torch.isnan(self.distance[item, at])
        self.points[item[gone], at[gone]] = found.best[: self.count].float().cpu()[gone]
        self.distance[item[gone], at[gone]] = found.loss[: self.count].float().cpu()[gone]

    def arrays(self) -> dict[str, Any]:
        shape = self.points.shape
        flat = self.points.reshape(-1, shape[2])
        found = {
            "steps": self.steps,
            "distance": self.distance.numpy(),
            "images": self.problem.inputs(flat).reshape(
                *shape[:2], self.problem.unknown.dummies, *self.problem.model.picture
            ),
        }
        if self.problem.unknown.mask:
            found["masks"] = self.problem.split(flat)["mask"].reshape(*shape[:2], -1).numpy()
        return found


def _details(found: list[Minimum], distance: torch.Tensor) -> dict[str, Any]:
    ended = Counter(Ended(int(why)).name.lower() for one in found for why in one.ended)
    return {
        "ended": dict(sorted(ended.items())),
        "iterations": [int(i) for i in found[0].iterations],
        "evaluations": sum(one.evaluations for one in found),
        "distance": [float(f"{value:.4g}") if np.isfinite(value) else None for value in distance.tolist()],
    }
