"""A cache on a file system that is really full: the run ends with one line, records nothing, and goes on later."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.cli import TINY
from tests.helpers.sandbox import needs_sandbox


@needs_sandbox
@pytest.mark.slow
@pytest.mark.usefixtures("warm_cache")
def test_a_full_cache_ends_the_run_with_one_line(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    bench = [sys.executable, "-m", "bench", "run", "--defense", "none", "--attack", "rss", *TINY]
    # bubblewrap makes the small file system, for which one need not be root.
    small = [shutil.which("bwrap") or "bwrap", "--dev-bind", "/", "/", "--size", str(128 << 10), "--tmpfs", str(cache)]
    env = {**os.environ, "BENCH_CACHE_DIR": str(cache)}
    full = subprocess.run([*small, *bench], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    assert full.returncode == 1, full.stderr
    (line,) = (line for line in full.stderr.splitlines() if line.startswith("bench: "))
    assert "full" in line
    assert "BENCH_CACHE_DIR" in line
    assert "Traceback" not in full.stderr
    assert not list((tmp_path / "results").glob("*.json"))
    done = subprocess.run(bench, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "results").glob("*.json"))) == 1
