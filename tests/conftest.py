"""What tests share: a cache of their own, a command line to call, and vectors like an encoder's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from tests.helpers.cli import ROOT
from tests.helpers.preloaded import Server


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all parallel workers of this session."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session", autouse=True)
def _own_cache(shared: Path) -> None:
    """One cache for all tests; never the user's."""
    os.environ["BENCH_CACHE_DIR"] = str(shared / "cache")


@pytest.fixture(scope="session")
def warm_cache(shared: Path, pytestconfig: pytest.Config) -> None:
    """The scorer's vectors of the demo sentences, which are made once and kept beside pytest's own cache.

    Without them most runs of the command line would load a transformer, for longer than all the rest takes.
    """
    remembers = pytestconfig.pluginmanager.hasplugin("cacheprovider")
    kept = pytestconfig.cache.mkdir("scorer-vectors") if remembers else shared
    with FileLock(shared / "warm_cache.lock"):
        code = "from tests.helpers.vectors import encode_demo; encode_demo()"
        env = {**os.environ, "BENCH_CACHE_DIR": str(kept), "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", code], cwd=kept, env=env, check=True)
        for file in (kept / "vectors").glob("*.sqlite"):
            place = shared / "cache" / "vectors" / file.name
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                part = shutil.copyfile(file, place.with_suffix(".part"))
                part.rename(place)


@pytest.fixture(scope="session")
def _server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def bench(tmp_path: Path, warm_cache: None, _server: Server) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line from an empty folder, as a user would."""

    def call(*args: str, env: dict[str, str] | None = None, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return _server.run(args, _home(tmp_path), {**os.environ, **(env or {})}, timeout)

    return call


@pytest.fixture
def fresh_bench(tmp_path: Path, warm_cache: None) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same in an interpreter of its own, where that is the point: what it imports, how long it takes."""

    def call(*args: str, env: dict[str, str] | None = None, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bench", *args]
        merged = {**os.environ, **(env or {})}
        return subprocess.run(command, cwd=_home(tmp_path), env=merged, capture_output=True, text=True, timeout=timeout)

    return call


def _home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture(scope="session")
def wheel(shared: Path) -> Path:
    """The project as it is installed elsewhere; built once, whichever of the parallel workers needs it first."""
    out = shared / "wheel"
    with FileLock(shared / "wheel.lock"):
        if not list(out.glob("*.whl")):
            # From a copy: building leaves files behind in the tree.
            copy = shared / "source"
            shutil.copytree(ROOT, copy, ignore=_not_in_the_wheel)
            code = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"
            done = subprocess.run([sys.executable, "-c", code, str(out)], cwd=copy, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    return next(out.glob("*.whl"))


def _not_in_the_wheel(folder: str, names: list[str]) -> set[str]:
    patterns = (".venv", ".git", "__pycache__", ".*_cache", "build", "results", "*.egg-info")
    left_out = shutil.ignore_patterns(*patterns)(folder, names)
    return left_out | ({"records"} if Path(folder) == ROOT / "leaderboards" else set())


@pytest.fixture
def sentence_vectors() -> Callable[..., np.ndarray]:
    """Vectors like an encoder's: a strong common mean, a decaying spectrum, one constant coordinate."""

    def make(n: int, d: int = 48, seed: int = 0) -> np.ndarray:
        rng = np.random.default_rng(seed)
        spread = 1 / np.sqrt(1 + np.arange(d) / 8)
        vectors = 2 * rng.standard_normal(d) + rng.standard_normal((n, d)) * spread
        vectors[:, -1] = 0.5
        return vectors.astype(np.float32)

    return make
