"""Lower bounds on ε from what a distinguisher reached, each with 95 % confidence.

jax-privacy has both bounds (its numbers are those of the tests), but needs all of jax to be imported, and takes neither
δ = 0 nor guesses in both directions. They are a few lines of scipy.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

CONFIDENCE = 0.95

Verdict = Literal["refuted", "consistent", "vacuous"]


def from_rates(hits: float, positives: int, alarms: float, negatives: int, delta: float) -> float:
    """From the two error rates of a test between neighbours: (ε, δ) implies hit rate ≤ e^ε · false alarm rate + δ.

    Clopper-Pearson for each of the two rates; the confidence is split between them.
    """
    from scipy.stats import beta

    tail = (1 - CONFIDENCE) / 2
    least_hits = float(beta.ppf(tail, hits, positives - hits + 1)) if hits else 0.0
    most_alarms = float(beta.ppf(1 - tail, alarms + 1, negatives - alarms)) if alarms < negatives else 1.0
    if least_hits <= delta:
        return 0.0
    return max(0.0, math.log((least_hits - delta) / most_alarms))


def one_run(canaries: int, guesses: int, correct: int, delta: float) -> float:
    """From the guesses on canaries of a single run (Steinke, Nasr and Jagielski 2023, theorem 5.2 and appendix D)."""
    from scipy.optimize import brentq

    def excess(epsilon: float) -> float:
        return p_value(canaries, guesses, correct, epsilon, delta) - (1 - CONFIDENCE)

    if excess(0.0) >= 0:
        return 0.0
    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-6))


def p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """How likely so many correct guesses are at most, if (ε, δ) holds."""
    from scipy.stats import binom

    right = 1 / (1 + math.exp(-epsilon))
    found = float(binom.sf(correct - 1, guesses, right))
    if delta == 0 or correct == 0:
        return found
    fewer = np.arange(1, correct + 1)
    slope = float(np.max((binom.sf(correct - fewer - 1, guesses, right) - found) / fewer))
    return min(1.0, found + 2 * canaries * delta * slope)


def verdict(claimed: float | None, audited: float, ceiling: float) -> Verdict:
    """`ceiling`: what a perfect distinguisher would have reached in this audit.

    Vacuous: there is no claim, or none that this audit could have refuted.
    """
    if claimed is not None and audited > claimed:
        return "refuted"
    return "vacuous" if claimed is None or claimed >= ceiling else "consistent"
