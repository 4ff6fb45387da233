"""Where units run: in this process, in processes of this machine, or on a Dask cluster.

All are executors as in concurrent.futures, with how many units they run at a time. A worker that was lost is a
BrokenExecutor, whichever it is; the next submit goes to what is left or started anew, or says that nothing is.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import Any, TypeVar

from bench.errors import BenchError, UsageError
from bench.system.threads import thread_variables, threads

T = TypeVar("T")
# Seconds that workers have to end their attacks and hand back what is finished before they are given up.
GRACE_S = 3.0
CONNECT_S = 15.0
SCHEME = "dask://"


class Workers(Executor):
    """An executor that says how many it does at a time. `shutdown(wait=False)` gives up what is running."""

    @property
    @abstractmethod
    def width(self) -> int: ...

    def halt(self) -> None:
        """Ask for what is running to end soon, and to hand back what it has."""


class Here(Workers):
    """This process: a unit is done when `submit` returns."""

    width = 1

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Local(Workers):
    """Processes of this machine; if one dies, all are started anew."""

    def __init__(self, width: int, environment: dict[str, str]):
        self._width, self._environment = width, environment
        self._pool: ProcessPoolExecutor | None = None

    @property
    def width(self) -> int:
        return self._width

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        for _ in range(2):
            if self._pool is None:
                # Started afresh, not forked: torch does not survive a fork.
                context = multiprocessing.get_context("spawn")
                words = (os.getpid(), self._environment)
                self._pool = ProcessPoolExecutor(self._width, context, _begin, words)
            try:
                return self._pool.submit(_guarded, fn, *args, **kwargs)
            except BrokenExecutor:
                self._pool.shutdown(wait=False)
                self._pool = None
        raise BenchError("worker processes die as soon as they are started: is there memory for --jobs of them?")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._pool is None:
            return
        if not wait:
            for worker in multiprocessing.active_children():
                worker.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def halt(self) -> None:
        for worker in multiprocessing.active_children():
            worker.terminate()


def local(jobs: int) -> Local:
    """So many processes, which share the cores."""
    return Local(jobs, thread_variables(threads(jobs)))


def _begin(parent: int, environment: dict[str, str]) -> None:
    """In a new worker, before anything heavy is imported: numerical libraries count their threads when loaded."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us; it tells us by SIGTERM
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: a killed run leaves no workers behind
    if os.getppid() != parent:
        os._exit(1)


def _guarded(fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    try:
        return fn(*args, **kwargs)
    except SystemExit:
        os._exit(143)  # told to end: the attack is over and its folder gone; the pool would go on with its queue


class Cluster(Workers):
    """A Dask cluster: `dask scheduler` and `dask worker` processes, on this or other machines."""

    def __init__(self, address: str, stop: Callable[[], None]):
        try:
            import distributed
            from distributed.comm.core import CommClosedError
        except ModuleNotFoundError as error:
            raise UsageError("--executor dask://… needs Dask: pip install 'hideseek[dask]'") from error
        import logging

        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said by us, in one line
        self._address, self._stop = address, stop
        self._lost = (distributed.KilledWorker, CommClosedError)
        try:
            self._client: Any = distributed.Client(f"tcp://{address}", timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise BenchError(
                f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`"
            ) from (error)
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError as error:
            self._client.close()
            said = f"start some with `dask worker {address} --nthreads 1`"
            raise BenchError(f"the Dask scheduler at {address} has no workers: {said}") from error
        # A task is never taken from Dask's memory in place of being run.
        self._executor: Executor = self._client.get_executor(pure=False)

    @property
    def width(self) -> int:
        try:
            return max(1, len(self._client.nthreads()))
        except OSError as error:
            raise self._gone() from error

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if self._client.status != "running":
            raise self._gone()
        outer: Future[T] = Future()

        def settle(inner: Future[T]) -> None:
            error = BrokenExecutor("Dask gave it up") if inner.cancelled() else inner.exception()
            if error is None:
                outer.set_result(inner.result())
            else:
                outer.set_exception(BrokenExecutor(str(error)) if isinstance(error, self._lost) else error)

        self._executor.submit(fn, *args, **kwargs).add_done_callback(settle)
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone, which has been said
            self._executor.shutdown(wait=wait)
        self._client.close(timeout=GRACE_S)

    def halt(self) -> None:
        with contextlib.suppress(Exception):
            self._client.run(self._stop)  # what is running on the workers, which are not ours to end

    def _gone(self) -> BenchError:
        said = f"the Dask scheduler at {self._address} is gone; what is finished is saved"
        return BenchError(f"{said}: start it again, and the same command goes on")


def address(executor: str) -> str:
    """HOST:PORT of `dask://HOST:PORT`."""
    host, _, port = executor.removeprefix(SCHEME).rpartition(":")
    if not executor.startswith(SCHEME) or not host or not port.isdigit():
        raise UsageError(f"--executor {executor}: expected dask://HOST:PORT, such as dask://localhost:8786")
    return f"{host}:{port}"
