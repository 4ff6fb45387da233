"""Threads of numerical libraries for concurrent jobs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bench.isolation import sandbox
from bench.system.threads import thread_variables, threads_per_job


def test_cores_are_divided_among_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert [threads_per_job(jobs) for jobs in (1, 2, 3, 20)] == [None, 4, 2, 1]


def test_variables_that_the_libraries_read() -> None:
    assert thread_variables(None) == {}
    assert thread_variables(3) == {"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}


@pytest.mark.parametrize(("given", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
def test_threads_sleep_while_they_wait_unless_the_user_says_otherwise(given: str | None, found: str) -> None:
    """In the process that imports bench, and in the attack's."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {"OMP_WAIT_POLICY": given} if given else {}
    ask = "import bench, os; from bench.isolation.process import Limits, _environment; "
    ask += "print(os.environ['OMP_WAIT_POLICY'], _environment(Limits())['OMP_WAIT_POLICY'])"
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [found, found]
    assert sandbox.environment(None)["OMP_WAIT_POLICY"] == "PASSIVE"
