"""Which of several ways to compute the same thing is the fastest on this machine: tried once, then remembered.

For ways that give the same answer alone: what is chosen depends on the machine and on its load.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from bench.errors import BenchError
from bench.system.files import write_text
from bench.system.paths import cache_dir

TRIES = 3
_known: dict[str, str] = {}


def fastest(task: str, ways: Mapping[str, Callable[[], object]]) -> str:
    """The name of the fastest way; `task` says with versions and threads what else the answer depends on."""
    key = f"{task}|{machine()}|{'|'.join(ways)}"
    if key not in _known:
        stored = _read(_file(key))
        _known[key] = stored if stored is not None and stored in ways else _measured(ways)
        if stored != _known[key]:
            _write(_file(key), _known[key])
    return _known[key]


def machine() -> str:
    """Its name, and what its processor can do as NumPy sees it: a cache folder may be shared by several."""
    try:
        inner = import_module("numpy._core._multiarray_umath")
    except ModuleNotFoundError:  # NumPy 1
        inner = import_module("numpy.core._multiarray_umath")
    features: dict[str, bool] = inner.__cpu_features__
    able = ",".join(sorted(name for name, there in features.items() if there))
    return f"{platform.node()}|{os.cpu_count()}|{able}"


def _measured(ways: Mapping[str, Callable[[], object]]) -> str:
    best = dict.fromkeys(ways, float("inf"))
    for way in ways.values():  # the first call of a library also starts its threads
        way()
    for _ in range(TRIES):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - start)
    return min(best, key=lambda name: best[name])


def _file(key: str) -> Path:
    return cache_dir() / "calibration" / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"


def _read(path: Path) -> str | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["fastest"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None


def _write(path: Path, name: str) -> None:
    """Where nothing can be written, the next process measures again: it takes milliseconds."""
    try:
        write_text(path, json.dumps({"fastest": name}) + "\n")
    except BenchError:
        return
