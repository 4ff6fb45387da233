"""Conformance of encoders: a vector is a function of its text alone."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from bench.arrays import PAIR
from bench.conformance.checks import (
    CheckResult,
    CheckSettings,
    CheckTarget,
    describe_error,
    failed,
    noted,
    verdict,
)
from bench.encoders.batching import check_vectors
from bench.experiment.cells import Chosen

TEXTS = [
    "a dog sleeps",
    "the committee has approved the budget",
    "rain",
    f"is it late{PAIR}it is past midnight",
    "a " * 300,
]
# float32 through a few layers, in batches of other shapes
CLOSE = 1e-4


def run_checks(chosen: Chosen, target: CheckTarget, settings: CheckSettings) -> Iterator[CheckResult]:
    start = time.monotonic()
    try:
        vectors = check_vectors(chosen.plugin.encode(TEXTS, device="cpu"), len(TEXTS), f"encoder {chosen.name}")
        again = np.asarray(chosen.plugin.encode(TEXTS[::-1], device="cpu"))[::-1]
        alone = np.concatenate([np.asarray(chosen.plugin.encode([text], device="cpu")) for text in TEXTS])
    except Exception as error:
        yield failed("encodes", describe_error(error))
        return
    took = time.monotonic() - start
    over = f"{took:.1f} s for {len(TEXTS)} texts: make it faster, or raise --budget if it has to be"
    yield verdict("encodes", took <= settings.budget, f"to {vectors.shape[1]} coordinates in {took:.1f} s", over)
    scale = max(float(np.abs(vectors).max()), 1e-30)
    gap = max(float(np.abs(other - vectors).max()) / scale for other in (again, alone))
    reason = f"a text's vector changes by {gap:.1g} of the largest value with the texts beside it"
    yield verdict("a function of the text", gap <= CLOSE, "whatever texts are encoded with it", reason)
    apart = len(np.unique(vectors.round(6), axis=0)) == len(TEXTS)
    yield verdict("tells texts apart", apart, f"{len(TEXTS)} different vectors", "different texts have the same vector")
    if not hasattr(chosen.plugin, "fingerprint"):
        yield noted("fingerprint", "has none, so its vectors are not cached: add one that names weights and options")
        return
    plain = isinstance(chosen.plugin.fingerprint, str) and bool(chosen.plugin.fingerprint)
    yield verdict(
        "fingerprint", plain, str(chosen.plugin.fingerprint), "must be a string that changes with the vectors"
    )
