"""A release whose epochs come from different vectors: weights that move in training, or dropout that is on.

Every epoch is released by itself, under one pool of masks; then all are put in an order that says nothing. The key
still says what each item mixes. It does not explain the release from one set of vectors, for there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from bench.arrays import Floats
from bench.toolkit import mixing
from bench.toolkit.corpus import Corpus
from bench.training.clients import Exposure
from bench.types import Key, Release


def over_epochs(
    defense: Any, vectors: Iterable[Floats], labels: Floats, public: Corpus | None, rng: np.random.Generator
) -> tuple[Release, Key]:
    """`vectors` are those of each epoch."""
    encodings, targets = [], []
    keys: list[Key] = []
    exposure = Exposure.none(len(labels))
    notes: dict[str, Any] = {}
    dim = 0
    for some in vectors:
        release, key = defense.release(some, labels, public, rng)
        found, dim = release.encodings, some.shape[1]
        if keys and (pool := keys[0].pool) is not None and not key.one_time:
            key = replace(key, pool=pool, mask=rng.integers(0, len(pool), len(key.owner)))
            found = mixing.apply(some, key, public)
        exposure.add(np.arange(len(labels)), key)
        encodings.append(np.asarray(found))
        targets.append(np.asarray(release.labels))
        keys.append(key)
        notes = release.notes
    notes = exposure.accounted(defense, notes, dim)
    order = rng.permutation(sum(map(len, encodings)))
    return Release(np.concatenate(encodings)[order], np.concatenate(targets)[order], notes), _joined(keys, order)


def _joined(keys: list[Key], order: Any) -> Key:
    def together(name: str) -> Any:
        parts = [getattr(key, name) for key in keys]
        return None if parts[0] is None else np.concatenate(parts)[order]

    mask, pool = together("mask"), keys[0].pool
    if keys[0].one_time and pool is not None:
        pool = np.concatenate([key.pool for key in keys if key.pool is not None])[order]
        mask = np.arange(len(order))
    return Key(
        together("owner"),
        together("members"),
        together("weights"),
        mask,
        pool,
        one_time=keys[0].one_time,
        public=together("public"),
        noise=together("noise"),
    )
