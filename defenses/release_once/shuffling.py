"""What shuffling is worth: the ε that examples may spend locally, where somebody shuffles them before the server looks.

Feldman, McMillan and Talwar 2021 ("Hiding among the clones"), theorem 3.8: n examples, each released with (ε₀, δ₀) by
itself after a random permutation, are (ε, δ + (e^ε + 1)(1 + e^-ε₀ / 2) n δ₀)-differentially private together. Their
closed form is not the tightest bound; a tighter one of the same authors (2022) had to be corrected.
"""

from __future__ import annotations

import math

# Of δ, what the permutation may fail by; the rest is for the local releases.
SHARE = 0.5
STEPS = 60


def amplified(local: float, examples: int, delta: float) -> float:
    """ε of the shuffled release; the local one where the theorem says nothing."""
    if math.exp(local) > examples / (16 * math.log(4 / delta)):
        return local
    spread = 8 * math.sqrt(math.exp(local) * math.log(4 / delta) / examples) + 8 * math.exp(local) / examples
    return min(local, math.log1p(math.tanh(local / 2) * spread))


def local_budget(epsilon: float, delta: float, examples: int) -> tuple[float, float]:
    """The largest (ε₀, δ₀) that stays within (ε, δ) after shuffling; (ε, δ) itself, if shuffling gains nothing."""
    low, high = epsilon, math.log(max(1.0, examples / (16 * math.log(4 / (SHARE * delta)))))
    if high <= low or amplified(low, examples, SHARE * delta) >= epsilon:
        return epsilon, delta
    for _ in range(STEPS):
        middle = (low + high) / 2
        if amplified(middle, examples, SHARE * delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low, (1 - SHARE) * delta / ((math.exp(epsilon) + 1) * (1 + math.exp(-low) / 2) * examples)
