"""Game (c): two neighbouring batches, and what a client sends of either in its rounds of training.

As in the game of a pair (bench.auditing.pair), whatever is chosen is chosen in rehearsals, and runs that count are
drawn afresh. An update is what the clients' code makes of a batch, and then of that what the defense's own code sends:
where the latter adds noise, its scale is learnt tensor by tensor from what it adds, and the statistic is the likelihood
ratio, which for Gaussian noise and batches whose update is always the same is the projection on their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from bench.arrays import Floats
from bench.auditing import bounds
from bench.auditing.mechanism import Noise, Run
from bench.auditing.outcome import Outcome
from bench.auditing.pair import choose_threshold
from bench.auditing.statistics import SAMPLES, LikelihoodRatio
from bench.types import Key

# Updates that must be the same for what makes them to be taken for certain; as many teach what is not.
LEARN = 20
# Rehearsed runs of each batch that choose the threshold; fewer where each takes gradients of its own.
REHEARSE, REHEARSE_DRAWN = 250, 100
# Numbers of an update that are looked at, more only where a single tensor has more; fewer where they hold this share of
# what the batches differ in.
NUMBERS, SHARE = 20_000, 0.99
# Of a tensor without noise, the numbers that tell the two batches apart best.
BEST = 200
# How many standard deviations apart is as good as certain.
CLEAREST = 100.0

Update = dict[str, Floats]
"""tensors by name"""


class Sender(Protocol):
    """A client whose batch is one of two neighbouring ones."""

    @property
    def name(self) -> str: ...

    @property
    def rounds(self) -> int:
        """In which the example that differs takes part."""

    def made(self, side: int, names: list[str], rng: np.random.Generator) -> list[Update]:
        """One run: for each round the update of a batch, before the defense of updates has changed it."""

    def sent(self, name: str, value: Floats, rng: np.random.Generator) -> Floats:
        """What that defense makes of a tensor."""

    def shapes(self) -> dict[str, tuple[int, ...]]: ...


@dataclass(frozen=True)
class Source:
    """A client's runs; a batch whose update is always the same takes no gradient again."""

    sender: Sender
    certain: tuple[Update | None, Update | None]

    @property
    def drawn(self) -> bool:
        return None in self.certain

    def made(self, side: int, names: list[str], rng: np.random.Generator) -> list[Update]:
        known = self.certain[side]
        return self.sender.made(side, names, rng) if known is None else [known] * self.sender.rounds

    def run(self, side: int, names: list[str], rng: np.random.Generator) -> list[Update]:
        """What is sent."""
        return [
            {name: self.sender.sent(name, update[name], rng) for name in names}
            for update in self.made(side, names, rng)
        ]


@dataclass(frozen=True)
class Told:
    """A statistic, and the tensors that it looks at."""

    source: Source
    name: str
    tensors: list[str]
    score: Callable[[list[Update]], float]
    threshold: float = 0.0
    expected: float = 0.0
    """the bound that rehearsals promise"""


def play(
    senders: Sequence[Sender],
    notes: dict[str, Any],
    *,
    trials: int,
    delta: float,
    rng: np.random.Generator,
    stage: Callable[[str], None],
) -> Outcome:
    """`trials` runs of each of the two batches."""
    found: list[Told] = []
    for sender in senders:
        stage(f"rehearsing with {sender.name}")
        found += [_rehearsed(told, trials, delta, rng) for told in statistics(sender, rng)]
    best = max(found, key=lambda each: each.expected)
    above = [0, 0]
    for side in (0, 1):
        for trial in range(trials):
            if trial % 500 == 0:
                stage(f"{best.source.sender.name}, batch {side + 1} of 2, run {trial:,} of {trials:,}")
            above[side] += best.score(best.source.run(side, best.tensors, rng)) >= best.threshold
    return Outcome(
        audited=bounds.from_rates(above[1], trials, above[0], trials, delta),
        ceiling=bounds.from_rates(trials, trials, 0, trials, delta),
        notes=notes,
        details={
            "pair": best.source.sender.name,
            "statistic": best.name,
            "tensors": best.tensors,
            "hits": above[1],
            "false_alarms": above[0],
        },
    )


def _rehearsed(told: Told, trials: int, delta: float, rng: np.random.Generator) -> Told:
    count = REHEARSE_DRAWN if told.source.drawn else REHEARSE
    zero, one = (
        np.array([told.score(told.source.run(side, told.tensors, rng)) for _ in range(count)]) for side in (0, 1)
    )
    threshold, expected = choose_threshold(zero, one, trials, delta)
    return replace(told, threshold=threshold, expected=expected)


def statistics(sender: Sender, rng: np.random.Generator) -> list[Told]:
    """What may tell the two batches apart."""
    some = sender.made(0, list(sender.shapes()), rng)[0]
    scales = {name: _scale(sender, name, value, rng) for name, value in some.items()}
    bare = [name for name, scale in scales.items() if scale == 0]
    learnt = [_learnt(sender, side, bare, rng) for side in (0, 1)]
    source = Source(sender, (learnt[0].certain, learnt[1].certain))
    found = []
    if len(bare) < len(scales):
        noisy = {name: scale for name, scale in scales.items() if scale > 0}
        found.append(_ratio(source, learnt, noisy, rng))
    if bare:
        found += [_difference(source, learnt, bare, magnitudes) for magnitudes in (False, True)]
    return found


@dataclass
class Moments:
    """What many updates of a batch have in common: a model has too many numbers to keep them all."""

    first: Update
    certain: Update | None
    count: int = 0
    sums: Update = field(default_factory=dict)
    squares: Update = field(default_factory=dict)
    magnitudes: Update = field(default_factory=dict)

    def add(self, update: Update, sent: Update) -> None:
        self.count += 1
        if self.certain is not None and any((value != self.certain[name]).any() for name, value in update.items()):
            self.certain = None
        for name, value in sent.items():
            for total, part in ((self.sums, value), (self.squares, np.square(value)), (self.magnitudes, np.abs(value))):
                total[name] = total[name] + part if name in total else part

    def mean(self, name: str, magnitudes: bool = False) -> Floats:
        found: Floats = (self.magnitudes if magnitudes else self.sums)[name] / float(self.count)
        return found

    def variance(self, name: str, magnitudes: bool = False) -> Floats:
        found: Floats = self.squares[name] / float(self.count) - self.mean(name, magnitudes) ** 2
        return found.clip(min=0)


def _learnt(sender: Sender, side: int, bare: list[str], rng: np.random.Generator) -> Moments:
    """Of tensors that are sent without noise."""
    names = list(sender.shapes())
    found: Moments | None = None
    while found is None or found.count < LEARN:
        for update in sender.made(side, names, rng):
            found = found or Moments(update, update)
            found.add(update, {name: sender.sent(name, update[name], rng) for name in bare})
    return found


def _scale(sender: Sender, name: str, value: Floats, rng: np.random.Generator) -> float:
    """Of the noise that the defense adds to a tensor: by how much two answers to the same differ."""
    differs = sender.sent(name, value, rng) - sender.sent(name, value, rng)
    return float(np.sqrt(np.mean(differs.astype(np.float64) ** 2) / 2))


def _ratio(source: Source, learnt: Sequence[Moments], scales: dict[str, float], rng: np.random.Generator) -> Told:
    """The likelihood ratio, on the tensors in which the batches differ most for their size, in units of the noise."""
    first = [moments.first for moments in learnt]
    worth = {name: _square(first[1][name] - first[0][name]) / scale**2 for name, scale in scales.items()}
    names: list[str] = []
    for name in sorted(worth, key=lambda name: -worth[name] / first[0][name].size):
        enough = sum(worth[n] for n in names) >= SHARE * sum(worth.values())
        if not names or (not enough and sum(first[0][n].size for n in [*names, name]) <= NUMBERS):
            names.append(name)

    def rows(updates: list[Update]) -> Floats:
        return np.stack([np.concatenate([update[n].ravel() / scales[n] for n in names]) for update in updates])

    means = []
    for side in (0, 1):
        runs = [source.made(side, names, rng) for _ in range(SAMPLES if source.certain[side] is None else 1)]
        means.append(rows([update for run in runs for update in run[: 1 if source.certain[side] else None]]))
    noises = [
        rows([{n: source.sender.sent(n, first[0][n], rng) for n in names}]) - rows([first[0]]) for _ in range(LEARN)
    ]
    noise = Noise.learnt(noises)
    assert noise is not None  # its scale was above 0
    ratio = LikelihoodRatio(noise, (means[0][:SAMPLES], means[1][:SAMPLES]), None, repeats=False)
    nobody = np.zeros(0, dtype=np.int64)
    key = Key(nobody, nobody[:, None], np.zeros((0, 1), np.float32))

    def score(updates: list[Update]) -> float:
        shown = rows(updates)
        return ratio.score(Run(shown, np.zeros((len(shown), 0), np.float32), key, {}))

    return Told(source, f"likelihood ratio ({noise.family})", names, score)


def _difference(source: Source, learnt: Sequence[Moments], bare: list[str], magnitudes: bool) -> Told:
    """How much nearer to the second batch's mean than to the first's, in the numbers of a tensor that say most."""
    part = np.abs if magnitudes else np.asarray
    means = {n: [moments.mean(n, magnitudes).ravel() for moments in learnt] for n in bare}
    clear = {}
    for n, (zero, one) in means.items():
        spread = np.sqrt(np.sum([moments.variance(n, magnitudes).ravel() for moments in learnt], axis=0))
        size = float(np.abs(np.stack([zero, one])).max()) or 1.0
        clear[n] = np.minimum(np.abs(one - zero) / (spread + 1e-4 * size), CLEAREST)
    # Of tensors that are equally good, a small one.
    name = max(bare, key=lambda n: (float(np.sort(clear[n])[-BEST:].mean()), -clear[n].size))
    at = np.argsort(-clear[name], kind="stable")[:BEST]
    zero, one = (mean[at] for mean in means[name])
    middle, half = (zero + one) / 2, (one - zero) / 2
    half = np.where(half == 0, np.inf, half)

    def score(updates: list[Update]) -> float:
        seen = np.stack([part(update[name].ravel()[at]) for update in updates])
        return float(np.clip((seen - middle) / half, -1, 1).mean(axis=1).sum())

    return Told(source, "magnitudes" if magnitudes else "mean", [name], score)


def _square(value: Floats) -> float:
    return float(np.sum(value.astype(np.float64) ** 2))
