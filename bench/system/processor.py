"""The processor, and the numerical kernels that are chosen by it: last bits of numbers depend on both."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast, get_args

from bench.errors import UsageError

Kernels = Literal["fast", "reference"]
# Which kernels encoders and training run on: `fast` (the default), or `reference`, those that records were made with
# before there were others. Trained encoders and vectors that are on disk are not made anew: to repeat such a record,
# set BENCH_CACHE_DIR to another folder, too.
VARIABLE = "BENCH_KERNELS"


@lru_cache(maxsize=1)
def kernels() -> Kernels:
    """Fast: encoders of known families run on packed tokens, linear layers through the fastest library. Reference:
    transformers' own forward pass, torch's own product. Both give the same numbers but for the last bits."""
    asked = os.environ.get(VARIABLE) or "fast"
    if asked not in get_args(Kernels):
        raise UsageError(f"{VARIABLE}={asked}: expected {' or '.join(get_args(Kernels))}")
    return cast(Kernels, asked)


@lru_cache(maxsize=1)
def onednn() -> bool:
    """Whether linear layers in float32 go through oneDNN on this CPU.

    torch itself takes MKL, whose kernels for AVX-512 run on Intel's processors alone; oneDNN, which torch carries as
    well, has some for everybody (on an AMD EPYC 9005, 270 against 120 GFLOP/s on one thread: benchmarks/yardstick.py).
    A rule and no measurement, so that a machine always computes the same bits.
    """
    facts = _facts()
    wide = "avx512f" in facts.get("flags", "").split()
    return kernels() == "fast" and wide and facts.get("vendor_id") == "AuthenticAMD"


@lru_cache(maxsize=1)
def name() -> str:
    """Its model, and the kernels where they are not the reference."""
    facts = _facts()
    found = " ".join(facts[word] for word in ("model name", "cpu family", "model") if word in facts)
    if not found:
        import platform

        found = platform.processor() or platform.machine() or "unknown"
    if kernels() == "fast":
        found += ", packed"
    return f"{found}, oneDNN" if onednn() else found


def kernel_variables() -> dict[str, str]:
    """Environment variables that give a process with an environment of its own the same kernels."""
    return {VARIABLE: kernels()}


@lru_cache(maxsize=1)
def _facts() -> dict[str, str]:
    """What Linux says of the first core; nothing elsewhere."""
    found: dict[str, str] = {}
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return found
    for line in lines:
        word, _, value = line.partition(":")
        found.setdefault(word.strip(), value.strip())
    return found
