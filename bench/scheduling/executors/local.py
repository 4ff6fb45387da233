"""Units in processes of this machine.

The standard library's pool, and not loky: loky restarts workers that have grown by 300 MB, which ours do as soon as
they load a model; it does so from a helper thread, with whose end PR_SET_PDEATHSIG would kill them; and its public
interface does not give out the workers, to which `halt` has to send SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any, TypeVar

from bench.errors import BenchError
from bench.scheduling.executors.base import TaskExecutor, executor
from bench.system.threads import thread_variables, threads_per_job

T = TypeVar("T")


class _Worker(SpawnProcess):
    """Does not import `__main__`, as new processes else do: a script that calls `bench.run` would start once more."""

    def start(self) -> None:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _WorkerContext(SpawnContext):
    """Starts processes afresh (torch does not survive a fork) and remembers them, so that signals go to the workers
    of this executor and to no other child that the user's own program may have."""

    def __init__(self) -> None:
        self.workers: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]
        worker = _Worker(*args, **kwargs)
        self.workers.append(worker)
        return worker


@executor("local", usage="local://N", example="local://4")
class LocalExecutor(TaskExecutor):
    """N processes that share the cores; if one dies, all are started anew."""

    def __init__(self, address: str):
        if not address.isdecimal() or int(address) < 1:
            raise self.reject(address)
        self._width = int(address)
        self._context = _WorkerContext()
        self._pool: ProcessPoolExecutor | None = None

    @property
    def width(self) -> int:
        return self._width

    @property
    def threads(self) -> int | None:
        return threads_per_job(self._width)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        for _ in range(2):
            if self._pool is None:
                self._context = _WorkerContext()
                arguments = (os.getpid(), thread_variables(self.threads))
                self._pool = ProcessPoolExecutor(self._width, self._context, _initialize_worker, arguments)
            try:
                return self._pool.submit(_exit_on_sigterm, fn, *args, **kwargs)
            except BrokenExecutor:
                self._pool.shutdown(wait=False)
                self._pool = None
        raise BenchError("worker processes die as soon as they are started: is there memory for --jobs of them?")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if self._pool is None:
            return
        if not wait:
            for worker in self._alive():
                worker.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None

    def halt(self) -> None:
        for worker in self._alive():
            worker.terminate()

    def _alive(self) -> list[SpawnProcess]:
        return [worker for worker in self._context.workers if worker.pid is not None and worker.is_alive()]


def _initialize_worker(parent: int, environment: dict[str, str]) -> None:
    """Runs before anything heavy is imported: numerical libraries choose their number of threads when loaded."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which passes it on as SIGTERM
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: a killed run leaves no workers behind
    if os.getppid() != parent:
        os._exit(1)


def _exit_on_sigterm(fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
    try:
        return fn(*args, **kwargs)
    except SystemExit:
        os._exit(143)  # without it the pool would go on with its queue
