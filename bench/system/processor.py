"""The processor, and what of the numerical libraries is chosen by it: last bits depend on both."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast, get_args

from bench.errors import UsageError

LinearLibrary = Literal["mkl", "onednn"]
# Overrides what `linear_library` says, in order to repeat what another machine computed. Trained encoders and vectors
# that are on disk are not made anew: give such a run a BENCH_CACHE_DIR of its own.
VARIABLE = "BENCH_LINEAR"


@lru_cache(maxsize=1)
def name() -> str:
    """Its model, by which libraries choose their kernels; and oneDNN, where linear layers go through that."""
    facts = _facts()
    words = [facts[word] for word in ("model name", "cpu family", "model") if word in facts]
    found = " ".join(words)
    if not found:
        import platform

        found = platform.processor() or platform.machine() or "unknown"
    return f"{found}, oneDNN" if linear_library() == "onednn" else found


@lru_cache(maxsize=1)
def linear_library() -> LinearLibrary:
    """Which library's matrix product torch's linear layers take in float32, on a CPU.

    torch itself takes MKL's, whose kernels for AVX-512 run on Intel's processors alone; oneDNN, which torch carries as
    well, has some for everybody (on an AMD EPYC 9005, 270 against 120 GFLOP/s on one thread: benchmarks/yardstick.py).
    A rule and no measurement, so that a machine always computes the same bits.
    """
    asked = os.environ.get(VARIABLE)
    if asked:
        if asked not in get_args(LinearLibrary):
            raise UsageError(f"{VARIABLE}={asked}: expected {' or '.join(get_args(LinearLibrary))}")
        return cast(LinearLibrary, asked)
    facts = _facts()
    wide = "avx512f" in facts.get("flags", "").split()
    return "onednn" if wide and facts.get("vendor_id") == "AuthenticAMD" else "mkl"


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
