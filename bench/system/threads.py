"""The number of threads of numerical libraries."""

from __future__ import annotations

import os

# A thread that waits for others sleeps at once. By default OpenMP's threads wait by running in circles: beside other
# programs on both of two cores, encoding 400 sentences took 18 s of processor time in place of 3, and the same bits.
PATIENT = {"OMP_WAIT_POLICY": "PASSIVE"}


def wait_patiently() -> None:
    """For this process and those it starts, unless the user said otherwise. Libraries read it when they are loaded."""
    for name, value in PATIENT.items():
        os.environ.setdefault(name, value)


def thread_variables(threads: int | None) -> dict[str, str]:
    """Environment variables that limit numerical libraries to so many threads; none for None."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return dict.fromkeys(names, str(threads)) if threads else {}


def threads_per_job(jobs: int) -> int | None:
    """Threads for each of `jobs` concurrent jobs; None, which stands for all cores, for a single one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return None if jobs == 1 else max(1, (cores or 1) // jobs)
