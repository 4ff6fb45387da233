"""The number of threads of numerical libraries."""

from __future__ import annotations

import os


def thread_variables(threads: int | None) -> dict[str, str]:
    """Environment variables that limit numerical libraries to so many threads; none for None."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict.fromkeys(names, str(threads)) if threads else {}


def threads_per_job(jobs: int) -> int | None:
    """Threads for each of `jobs` concurrent jobs; None, which stands for all cores, for a single one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return None if jobs == 1 else max(1, (cores or 1) // jobs)
