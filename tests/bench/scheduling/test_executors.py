"""Executors by URL scheme."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from bench.errors import BenchError, UsageError
from bench.scheduling import executors
from bench.scheduling.executors.base import REGISTERED
from bench.scheduling.executors.in_process import InProcessExecutor
from bench.scheduling.executors.local import LocalExecutor
from tests.helpers.processes import wait_until


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("dask://nowhere", "expected dask://HOST:PORT, such as dask://localhost:8786"),
        ("local://many", "expected local://N, such as local://4"),
        ("local://0", "expected local://N"),
        ("in-process://2", "expected in-process://"),
        ("slurm://a:1", "choose one of dask://HOST:PORT, dask+tls://HOST:PORT, in-process://, local://N"),
        ("4", "no such executor"),
    ],
)
def test_a_wrong_url_says_what_was_expected(url: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        executors.create(url)
    assert f"--executor {url}: " in str(caught.value)
    assert message in str(caught.value)


def test_jobs_are_short_for_a_url() -> None:
    assert isinstance(executors.create(executors.for_jobs(1)), InProcessExecutor)
    found = executors.create(executors.for_jobs(3))
    assert isinstance(found, LocalExecutor)
    assert found.width == 3
    assert found.threads is not None
    with pytest.raises(UsageError, match="at least 1"):
        executors.for_jobs(0)


def test_a_new_executor_needs_only_a_decorator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.scheduling.executors.base.REGISTERED", REGISTERED)

    @executors.executor("mine", usage="mine://", example="mine://")
    class Mine(InProcessExecutor):
        pass

    try:
        assert isinstance(executors.create("mine://"), Mine)
    finally:
        del REGISTERED["mine"]


def test_no_executor_loads_what_it_does_not_need() -> None:
    code = (
        "import sys; from bench.scheduling import executors; executors.create('dask://a:1'); "
        "sys.exit(bool({'numpy', 'torch', 'distributed', 'pydantic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_in_process_an_error_is_the_futures_and_ctrl_c_is_not() -> None:
    executor = executors.create("in-process://")
    assert executor.submit(pow, 2, 3).result() == 8
    assert isinstance(executor.submit(int, "x").exception(), ValueError)
    with pytest.raises(KeyboardInterrupt):
        executor.submit(_interrupted)


def test_a_killed_worker_breaks_its_futures_and_the_next_submit_starts_others() -> None:
    with executors.create("local://1") as executor:
        lost = executor.submit(os.kill, executor.submit(os.getpid).result(timeout=60), signal.SIGKILL)
        assert isinstance(lost.exception(timeout=60), BrokenExecutor)
        assert executor.submit(pow, 2, 3).result(timeout=60) == 8


def _sleep(begun: Path) -> None:
    begun.touch()
    time.sleep(60)


def test_halting_reaches_the_workers_and_no_other_child(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    executor = executors.create("local://1")
    try:
        worker = executor.submit(os.getpid).result(timeout=60)
        begun = tmp_path / "begun"
        sleeping = executor.submit(_sleep, begun)
        wait_until(begun.exists)  # a worker between two tasks is not what halting is for: shutdown ends it
        executor.halt()
        assert isinstance(sleeping.exception(timeout=30), BrokenExecutor)
        executor.shutdown(wait=False)
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_dask_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("bench.scheduling.executors.dask.CONNECT_S", 1.0)
    executor = executors.create("dask://127.0.0.1:1")
    with pytest.raises(BenchError, match="no Dask scheduler answers at tcp://127"):
        executor.open(lambda: None)
