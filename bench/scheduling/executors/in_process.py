"""Units in the process that was started, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from bench.scheduling.executors.base import TaskExecutor, executor

T = TypeVar("T")


@executor("in-process", usage="in-process://", example="in-process://")
class InProcessExecutor(TaskExecutor):
    """A unit is done when `submit` returns. Attacks still run in processes of their own."""

    in_process = True
    width = 1

    def __init__(self, address: str):
        if address:
            raise self.reject(address)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
