"""Where tasks run, chosen by the scheme of a URL: in-process://, local://N, dask://HOST:PORT.

A new executor is a file in this folder with a subclass of `TaskExecutor` under `@executor("scheme", …)`; no other file
has to name it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from bench.errors import UsageError
from bench.scheduling.executors.base import REGISTERED, TaskExecutor, executor

__all__ = ["DEFAULT", "TaskExecutor", "create", "executor", "for_jobs"]

DEFAULT = "in-process://"


def create(url: str) -> TaskExecutor:
    """The executor of a URL. Only the URL is checked here: nothing is started or connected before `open`."""
    scheme, separator, address = url.partition("://")
    _load()
    if not separator or scheme not in REGISTERED:
        usages = ", ".join(made.usage for _, made in sorted(REGISTERED.items()))
        raise UsageError(f"--executor {url}: no such executor; choose one of {usages}")
    return REGISTERED[scheme](address)


def for_jobs(jobs: int) -> str:
    """The URL that --jobs N is short for."""
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: at least 1")
    return DEFAULT if jobs == 1 else f"local://{jobs}"


def _load() -> None:
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
