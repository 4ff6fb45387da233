"""Bootstrap intervals over examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

ROUNDS = 2000
# Resampled counts made at a time, in values: 32 MiB of float64.
_BLOCK = 4 << 20

Values = npt.NDArray[np.float64]


def mean_interval(
    values: npt.NDArray[Any], example: npt.NDArray[Any], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean and 95 % interval of `values`, resampling whole examples: the encodings of one are not independent.

    NaN values do not count. Where all values are the same 0 or 1 a bootstrap sees no spread at all; then the exact
    binomial bound is given, so that "none of 1,000" does not read as "never".
    """
    keep = ~np.isnan(values)
    values, example = values[keep].astype(np.float64), example[keep]
    if not len(values):
        return float("nan"), float("nan"), float("nan")
    _, unit = np.unique(example, return_inverse=True)
    sums, counts = np.bincount(unit, values), np.bincount(unit).astype(np.float64)
    mean, n = float(values.mean()), len(sums)
    if np.isin(values, (0.0, 1.0)).all() and values.min() == values.max():
        slack = 1 - 0.025 ** (1 / n)
        return mean, max(0.0, mean - slack), min(1.0, mean + slack)
    means: list[Values] = []
    step = max(1, _BLOCK // n)
    for at in range(0, ROUNDS, step):
        draws = rng.multinomial(n, np.full(n, 1 / n), size=min(step, ROUNDS - at)).astype(np.float64)
        means.append((draws @ sums) / (draws @ counts))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return mean, float(low), float(high)
