"""What an executor has to offer, and the table of executors by URL scheme."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor
from typing import ClassVar, TypeVar

from bench.errors import UsageError

REGISTERED: dict[str, type[TaskExecutor]] = {}
T = TypeVar("T", bound="type[TaskExecutor]")
# Seconds that workers have to end their attacks and hand back what is finished before they are given up.
GRACE_S = 3.0


class TaskExecutor(Executor, ABC):
    """An executor as in concurrent.futures, which also says how many units it runs at a time.

    A lost worker shows as BrokenExecutor on the futures it had; the next `submit` goes to the workers that are left or
    to new ones, or raises a BenchError that says that there are none. `shutdown(wait=False)` abandons what is running.
    """

    scheme: ClassVar[str]
    usage: ClassVar[str]
    """the form of its URL, for error messages"""
    example: ClassVar[str]
    in_process: ClassVar[bool] = False
    """units run in this very process: no vectors are prefetched, and progress is reported stage by stage"""

    @abstractmethod
    def __init__(self, address: str):
        """`address` is what follows `scheme://`; UsageError if it makes no sense."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many units run at a time."""

    @property
    def threads(self) -> int | None:
        """Threads for the numerical libraries of an attack; None leaves it to the environment."""
        return None

    def open(self, stop: Callable[[], None]) -> None:
        """Connect to workers, or check that they can be started. `stop`, called on a worker, ends what this run is
        doing there."""

    def halt(self) -> None:
        """Ask workers to end what is running soon and to hand back what is finished."""

    @classmethod
    def reject(cls, address: str) -> UsageError:
        return UsageError(f"--executor {cls.scheme}://{address}: expected {cls.usage}, such as {cls.example}")


def executor(scheme: str, *, usage: str, example: str) -> Callable[[T], T]:
    """Registers a TaskExecutor under the scheme of its URLs."""

    def register(cls: T) -> T:
        cls.scheme, cls.usage, cls.example = scheme, usage, example
        REGISTERED[scheme] = cls
        return cls

    return register
