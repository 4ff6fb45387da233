"""Units on a Dask cluster: `dask scheduler` and `dask worker` processes, on this or other machines."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, ClassVar, TypeVar

from bench.errors import BenchError, UsageError
from bench.scheduling.executors.base import GRACE_S, TaskExecutor, executor

T = TypeVar("T")
CONNECT_S = 15.0
# What of Dask's configuration says where certificates and keys lie.
VARIABLES = "DASK_DISTRIBUTED__COMM__TLS__"
FILES = ("ca-file", "client.cert", "client.key")


@executor("dask", usage="dask://HOST:PORT", example="dask://localhost:8786")
class DaskExecutor(TaskExecutor):
    """Workers may join and leave while a run goes on."""

    def __init__(self, address: str):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise self.reject(address)
        self._address = address
        self._client: Any = None

    protocol: ClassVar[str] = "tcp"
    start_scheduler: ClassVar[str] = "dask scheduler --host 127.0.0.1"

    def _security(self) -> Any:
        """How the connection is secured: not at all."""
        return None

    def open(self, stop: Callable[[], None]) -> None:
        try:
            import distributed
            from distributed.comm.core import CommClosedError
        except ModuleNotFoundError as error:
            raise UsageError("--executor dask://… needs Dask: pip install 'hideseek[dask]'") from error
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # our own errors say what matters, in one line
        self._stop = stop
        self._lost = (distributed.KilledWorker, CommClosedError)
        address = f"{self.protocol}://{self._address}"
        try:
            self._client = distributed.Client(
                address, timeout=CONNECT_S, set_as_default=False, security=self._security()
            )
        except (OSError, TimeoutError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            raise BenchError(
                f"no Dask scheduler answers at {address} ({said}): start one with `{self.start_scheduler}`"
            ) from error
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError as error:
            self._client.close()
            hint = f"start some with `dask worker {address} --nthreads 1`"
            raise BenchError(f"the Dask scheduler at {address} has no workers: {hint}") from error
        # pure=False: Dask must never answer a task with the stored result of an equal one.
        self._executor: Executor = self._client.get_executor(pure=False)

    @property
    def width(self) -> int:
        if self._client is None:
            return 1  # not connected: a dry run
        try:
            return max(1, len(self._client.nthreads()))
        except OSError as error:
            raise self._scheduler_gone() from error

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if self._client.status != "running":
            raise self._scheduler_gone()
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
        with contextlib.suppress(Exception):  # the scheduler may be gone, which has been reported
            self._executor.shutdown(wait=wait)
        self._client.close(timeout=GRACE_S)

    def halt(self) -> None:
        with contextlib.suppress(Exception):
            self._client.run(self._stop)  # ends our units; the workers themselves may serve other runs

    def _scheduler_gone(self) -> BenchError:
        what = f"the Dask scheduler at {self._address} is gone; what is finished is saved"
        return BenchError(f"{what}: start it again, and the same command goes on")


@executor("dask+tls", usage="dask+tls://HOST:PORT", example="dask+tls://head:8786")
class DaskOverTls(DaskExecutor):
    """The same, encrypted, and only with who holds the key: scheduler, workers and clients show each other certificates
    that the given authority has signed. Where they lie is Dask's own configuration, as for its other commands."""

    protocol = "tls"
    start_scheduler = "dask scheduler --protocol tls --host HOST"

    def _security(self) -> Any:
        import dask
        from distributed.security import Security

        missing = [name for name in FILES if not dask.config.get(f"distributed.comm.tls.{name}", None)]
        if missing:
            names = ", ".join(f"{VARIABLES}{name.replace('.', '__').replace('-', '_').upper()}" for name in missing)
            what = "--executor dask+tls://… needs a key that all machines share"
            raise UsageError(f"{what}: set {names} (docs/scale-out.md)")
        security = Security(require_encryption=True)
        try:
            security.get_connection_args("client")  # read here, where the reason can be said
        except (OSError, ValueError) as error:
            raise UsageError(f"--executor dask+tls://…: its certificate or key cannot be read ({error})") from error
        return security
