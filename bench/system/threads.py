"""How many threads numerical libraries use."""

from __future__ import annotations

import os


def thread_variables(threads: int | None) -> dict[str, str]:
    """How numerical libraries are told to use so many threads; nothing for None."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict.fromkeys(names, str(threads)) if threads else {}


def threads(jobs: int) -> int | None:
    """For each of so many at a time; None, as many as there are cores, for one alone."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return None if jobs == 1 else max(1, (cores or 1) // jobs)
