"""Significance of a difference in leak: a bootstrap over private examples, paired where two runs hide the same ones.

Each record's mean leak is resampled with the same draws of examples, so that the difference of two columns is the
paired bootstrap of two runs on the same examples, and a matrix product makes all columns at once. Runs that hide
different examples get different draws. Draws are fixed: the same records give the same tiers.

A bootstrap sees no variance where nothing was found, or in a few pairs that all point one way. Hence add-one smoothing:
one contradicting pseudo-example, on which the run that seems to leak less leaks everything and the other nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from bench.records.model import AttackRecord
from bench.scoring import per_example

Values = npt.NDArray[np.float64]

ROUNDS = 2000
LEVEL = 0.025
# Means that should be equal may differ in their last bits.
TOLERANCE = 1e-9
# How often a round draws the pseudo-example: once in n + 1 draws from n + 1 examples, on average.
PSEUDO_DRAWS: Values = np.random.default_rng(0).poisson(1.0, ROUNDS).astype(np.float64)
# Draws made at a time, in values: 32 MiB of float64.
BLOCK = 4 << 20


class Bootstrap:
    """Resampled mean leaks of records, by id."""

    def __init__(self, records: Iterable[AttackRecord]) -> None:
        sizes: dict[int, list[tuple[AttackRecord, Values]]] = defaultdict(list)
        for record in records:
            values = per_example.values(record) if record.status == "ok" else None
            if values is not None and not np.isnan(values).all():
                sizes[len(values)].append((record, values))
        self._means: dict[str, Values] = {}
        self._sizes: dict[str, int] = {}
        for n, some in sorted(sizes.items()):
            columns = np.stack([values for _, values in some], axis=1)
            for (record, values), means in zip(some, _means(columns, n).T, strict=True):
                self._sizes[record.id] = int((~np.isnan(values)).sum())
                # Another seed is another draw of examples. Every row is a draw of its own, so rolling makes one.
                self._means[record.id] = np.roll(means, 131 * record.seed % ROUNDS)

    def known(self, records: Sequence[AttackRecord]) -> bool:
        """Whether any of these records says what became of each example."""
        return any(r.id in self._means for r in records)

    def means(self, record: AttackRecord) -> Values:
        """The record's mean leak in each of ROUNDS resamples."""
        return self._means[record.id]

    def better(
        self, one: Sequence[AttackRecord], other: Sequence[AttackRecord], level: float = LEVEL
    ) -> tuple[bool, bool]:
        """Whether `one` leaks more than `other`, one-sided; and whether that was judged on the same examples."""
        mine, theirs = self._by_examples(one), self._by_examples(other)
        shared = sorted(mine.keys() & theirs.keys(), key=repr)
        if shared:
            mine, theirs = ({k: some[k] for k in shared} for some in (mine, theirs))
        (more, m), (less, n) = self._pooled(mine), self._pooled(theirs)
        if not shared:
            less = np.roll(less, ROUNDS // 2 + 1)
        difference = more * m / (m + 1) - (less * n + PSEUDO_DRAWS) / (n + 1)
        return bool((difference <= TOLERANCE).mean() < level), bool(shared)

    def _by_examples(self, records: Sequence[AttackRecord]) -> dict[Hashable, str]:
        return {same_examples(r): r.id for r in records if r.id in self._means}

    def _pooled(self, ids: dict[Hashable, str]) -> tuple[Values, int]:
        means: Values = np.mean([self._means[i] for i in ids.values()], axis=0)
        return means, sum(self._sizes[i] for i in ids.values())


def same_examples(record: AttackRecord) -> Hashable:
    """What decides which examples are private, and their order (bench.experiment.setup); sealed runs draw their own."""
    return record.dataset.fingerprint, record.protocol, record.seed, record.salt or ""


def _means(columns: Values, n: int) -> Values:
    """ROUNDS × records; NaN values do not count."""
    known = ~np.isnan(columns)
    filled, weights = np.where(known, columns, 0.0), known.astype(np.float64)
    whole = bool(known.all())
    parts = []
    step = max(1, BLOCK // n)
    for at in range(0, ROUNDS, step):
        counts = _counts(n, at, min(step, ROUNDS - at))
        seen = n if whole else np.maximum(counts @ weights, 1.0)
        parts.append(counts @ filled / seen)
    return np.concatenate(parts)


def _counts(n: int, at: int, rows: int) -> Values:
    """How often each of n examples is drawn, in each of `rows` rounds: multinomial."""
    rng = np.random.default_rng([n, at])
    drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
