"""Threads of numerical libraries for concurrent jobs."""

from __future__ import annotations

import os

import pytest

from bench.system.threads import thread_variables, threads_per_job


def test_cores_are_divided_among_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert [threads_per_job(jobs) for jobs in (1, 2, 3, 20)] == [None, 4, 2, 1]


def test_variables_that_the_libraries_read() -> None:
    assert thread_variables(None) == {}
    assert thread_variables(3) == {"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}
