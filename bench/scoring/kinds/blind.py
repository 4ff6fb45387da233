"""The best that an attacker can do who looks at nothing but a small corpus.

In a corpus of thousands, naming sentences at random is as good as any other blind strategy: that is the random level.
In a small one it is not: to name each sentence once finds more than drawing with replacement, to name all of four
finds everything, and the sentence that is most like all others is a better constant answer than a random one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bench.arrays import Ints

Values = npt.NDArray[np.float64]
Level = dict[str, float]
# Corpora below this are small. From here on drawing with and without replacement differ by less than 0.4 % for up to
# eight answers, and no published record has a smaller corpus, so that their random levels are what they were.
SMALL = 1000


def distinct(texts: Ints, items: int, width: int, rng: np.random.Generator) -> Ints:
    """Answers without replacement, items × width: no text twice for one item, and none first for a second item before
    all others were first for one."""
    order = rng.permutation(np.unique(texts))
    shifts = rng.choice(len(order), min(width, len(order)), replace=False)
    answers: Ints = order[(np.arange(items)[:, None] + shifts[None, :]) % len(order)]
    return answers


def steady(texts: Ints, items: int, width: int, rng: np.random.Generator) -> Ints:
    """The same answers to every item: no better on average, but all right or all wrong together."""
    order = rng.permutation(np.unique(texts))[:width]
    answers: Ints = np.broadcast_to(order, (items, len(order)))
    return answers


def constant(values: Values) -> Level:
    """The best answer to give always, of examples × answers, with the range of 95 % for as many examples."""
    best = int(np.argmax(values.mean(axis=0)))
    mean, spread = float(values[:, best].mean()), 1.96 * float(values[:, best].std() / np.sqrt(len(values)))
    return {"random": mean, "random_low": mean - spread, "random_high": mean + spread}


def better(one: Mapping[str, Level], other: Mapping[str, Level], lower: Sequence[str] = ()) -> dict[str, Level]:
    """Metric by metric the level of the better strategy: the larger one, but for metrics of which less is better. The
    range reaches as far as that of the luckier one."""
    found: dict[str, Level] = {}
    for name in one:
        both = sorted((one[name], other[name]), key=lambda level: level["random"] * (-1 if name in lower else 1))
        end, furthest = ("random_low", min) if name in lower else ("random_high", max)
        found[name] = {**both[-1], end: furthest(level[end] for level in both)}
    return found
