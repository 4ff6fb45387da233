"""Game (a): two neighbouring data sets, many runs of each, and the best distinguisher that rehearsals find.

Neighbours and distinguisher are chosen, with the threshold, in rehearsals; the runs that count are drawn afresh, so the
Clopper-Pearson bound holds as it stands. Where the density of the noise is known, the distinguisher is the likelihood
ratio, which is optimal but for what is marginalised by sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.arrays import Floats
from bench.auditing import bounds
from bench.auditing.mechanism import Mechanism, Run
from bench.auditing.outcome import Outcome, largest
from bench.auditing.statistics import Comparison, LikelihoodRatio, repeats

# Runs of each data set from which statistics are learnt, and further ones that choose threshold, statistic and pair.
LEARN, REHEARSE = 20, 250
# Where every epoch is the same, a run shows one draw only.
LEARN_ONCE = 400
# Thresholds that are tried in rehearsals.
THRESHOLDS = 400
# What the norm of a chosen vector is a multiple of, so that every clip bound cuts it to exactly that bound.
LONG = 1e3


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in their first example."""

    name: str
    vectors: tuple[Floats, Floats]
    labels: tuple[Floats, Floats]
    sample: Floats
    """vectors of the data set that are in neither"""


@dataclass(frozen=True)
class Distinguisher:
    neighbours: Neighbours
    statistic: str
    score: Callable[[Run], float]
    threshold: float
    expected: float
    """the bound that rehearsals promise"""


def neighbours(others: Floats, sample: Floats, labels: Floats, flipped: Floats) -> list[Neighbours]:
    """Pairs to choose from. `others` and the rows of `labels` behind the first stay the same in both data sets;
    `sample` are vectors of the data set; `flipped` is the first example's label in the second data set.

    Opposite vectors are as far apart as clipped ones can be, in ℓ2 and, spread over all coordinates, in ℓ1; those along
    the data's first principal axis survive a projection, too. The signs of masks hide which of two opposite vectors was
    there: for these there are the two sentences that are farthest apart.
    """
    dim = others.shape[1]
    long = LONG * float(np.median(np.linalg.norm(sample, axis=1)))
    even = np.where(np.arange(dim) % 2, 1.0, -1.0) / np.sqrt(dim)
    centre = sample.mean(axis=0)
    axis = np.linalg.svd(sample - centre, full_matrices=False)[2][0]
    far = sample - centre
    one = int(np.argmax(far @ axis))
    other = int(np.argmin(far @ far[one]))
    pairs = {
        "spread": (long * even, -long * even),
        "principal": (long * axis, -long * axis),
        "sentences": (sample[one], sample[other]),
    }
    changed = np.concatenate([flipped[None], labels[1:]])
    return [
        Neighbours(name, (_with(first, others), _with(second, others)), (labels, changed), sample)
        for name, (first, second) in pairs.items()
    ]


def _with(vector: Floats, others: Floats) -> Floats:
    return np.concatenate([vector[None], others]).astype(np.float32)


def play(
    mechanism: Mechanism,
    pairs: list[Neighbours],
    *,
    private_labels: bool,
    trials: int,
    delta: float,
    rng: np.random.Generator,
    stage: Callable[[str], None],
) -> Outcome:
    """`trials` runs of each of the two data sets."""
    found: list[Distinguisher] = []
    runs: list[Run] = []
    for pair in pairs:
        stage(f"rehearsing with {pair.name}")
        count = LEARN_ONCE if repeats(_runs(mechanism, pair, 0, 1, rng)[0].encodings) else LEARN
        learnt = tuple(_runs(mechanism, pair, side, count, rng) for side in (0, 1))
        runs += learnt[0]
        found += _rehearsed(mechanism, pair, (learnt[0], learnt[1]), private_labels, trials, delta, rng)
    best = max(found, key=lambda each: each.expected)
    above = [0, 0]
    for side in (0, 1):
        for trial in range(trials):
            if trial % 500 == 0:
                stage(f"data set {side + 1} of 2, run {trial:,} of {trials:,}")
            run = mechanism.run(best.neighbours.vectors[side], best.neighbours.labels[side], rng)
            above[side] += best.score(run) >= best.threshold
    return Outcome(
        audited=bounds.from_rates(above[1], trials, above[0], trials, delta),
        ceiling=bounds.from_rates(trials, trials, 0, trials, delta),
        notes=largest([run.notes for run in runs]),
        details={
            "pair": best.neighbours.name,
            "statistic": best.statistic,
            "hits": above[1],
            "false_alarms": above[0],
        },
    )


def _runs(mechanism: Mechanism, pair: Neighbours, side: int, count: int, rng: np.random.Generator) -> list[Run]:
    return [mechanism.run(pair.vectors[side], pair.labels[side], rng) for _ in range(count)]


def _rehearsed(
    mechanism: Mechanism,
    pair: Neighbours,
    learnt: tuple[list[Run], list[Run]],
    private_labels: bool,
    trials: int,
    delta: float,
    rng: np.random.Generator,
) -> list[Distinguisher]:
    """What every statistic promises for a pair."""
    statistics: dict[str, Callable[[Run], float]] = {}
    ratio = LikelihoodRatio.learnt(learnt, private_labels, rng)
    if ratio is not None:
        statistics[f"likelihood ratio ({ratio.noise.family})"] = ratio.score
    else:
        first, second = (vectors[:1] for vectors in pair.vectors)
        for comparison in Comparison.learnt([*learnt[0], *learnt[1]], pair.sample):
            statistics[comparison.name] = _of_run(comparison, first, second)
    scores: dict[str, list[list[float]]] = {name: [[], []] for name in statistics}
    for side in (0, 1):
        for _ in range(REHEARSE):
            run = mechanism.run(pair.vectors[side], pair.labels[side], rng)
            for name, score in statistics.items():
                scores[name][side].append(score(run))
    found = []
    for name, score in statistics.items():
        threshold, expected = choose_threshold(np.array(scores[name][0]), np.array(scores[name][1]), trials, delta)
        found.append(Distinguisher(pair, name, score, threshold, expected))
    return found


def _of_run(comparison: Comparison, first: Floats, second: Floats) -> Callable[[Run], float]:
    return lambda run: float(comparison.scores(run.encodings, first, second)[0])


def choose_threshold(zero: Floats, one: Floats, trials: int, delta: float) -> tuple[float, float]:
    """The threshold that promises the highest bound in `trials` runs of each, by rehearsed scores of both data sets.

    Beyond what so few rehearsals show, tails are taken for normal ones; where they show more, for what they show.
    """
    from scipy.stats import norm

    spread = max(float(zero.std()), float(one.std()), 1e-12)
    grid = np.linspace(zero.mean(), max(zero.mean(), one.mean()) + 4 * spread, THRESHOLDS)
    alarms = np.maximum(norm.sf(grid, zero.mean(), max(zero.std(), 1e-12)), (zero[None] >= grid[:, None]).mean(axis=1))
    hits = np.minimum(norm.sf(grid, one.mean(), max(one.std(), 1e-12)), (one[None] >= grid[:, None]).mean(axis=1))
    expected = [
        bounds.from_rates(hit * trials, trials, alarm * trials, trials, delta)
        for hit, alarm in zip(hits, alarms, strict=True)
    ]
    best = int(np.argmax(expected))
    return float(grid[best]), expected[best]
