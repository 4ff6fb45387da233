"""Chooses rate and dropout on held-out examples: the same settings are tried for every defense, and for none.

The space is that of TextHide's appendix B.3, rates scaled to the model: a small encoder takes some five times the rate
of BERT. A search has a seed of its own, so that all seeds of an experiment share what it finds; its trainings are kept
like any other.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

from bench.plugins.training import Finetuned
from bench.system.seeds import generator
from bench.training.checkpoints import Trained

RATES = (2.5e-5, 5e-5, 1e-4, 1.5e-4, 2.5e-4)
DROPOUTS = (0.1, 0.2, 0.3, 0.4, 0.5)
# The seed of every search: other examples are held out than in the trainings that follow.
SEED = 10_000


def settings(count: int) -> list[dict[str, Any]]:
    """The settings that a search of this size tries, the same for everybody."""
    space = list(itertools.product(RATES, DROPOUTS))
    order = generator(SEED, "settings").permutation(len(space))
    return [{"rate": space[i][0], "dropout": space[i][1]} for i in order[:count]]


def choose(
    options: Finetuned, train: Callable[[Finetuned, int], Trained], progress: Callable[[str], None]
) -> tuple[Finetuned, list[dict[str, Any]]]:
    """The options with the best of the settings, and what each of them reached; as they are, where none is tried."""
    if not options.search:
        return options, []
    tried: list[dict[str, Any]] = []
    alone = dataclasses.replace(options.run(), search=0)
    for setting in settings(options.search):
        progress(f"trying {len(tried) + 1} of {options.search}: rate {setting['rate']}, dropout {setting['dropout']}")
        found = train(dataclasses.replace(alone, **setting), SEED)
        row = found.curve[found.best - 1]
        reached = next(value for name, value in row.items() if name not in ("epoch", "loss"))
        tried.append({**setting, "held_out": reached, "epoch": found.best})
    best = max(tried, key=lambda one: one["held_out"])
    chosen = {name: best[name] for name in ("rate", "dropout")}
    return dataclasses.replace(options, search=0, **chosen), tried
