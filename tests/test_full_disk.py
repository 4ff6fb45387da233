"""A file system that is really full, under results, cache or temporary files: one line, whole files, and the same
command goes on when there is room."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.cli import TINY

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]
CELLS = ("--defense", "none", "--attack", "rss", "--seed", "0", "1", "2", "--no-progress")


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()[:100]}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, left: int) -> Path:
    """A file that leaves so many bytes."""
    filler = folder / "filler"
    room = shutil.disk_usage(folder).free
    filler.write_bytes(b"\0" * max(0, room - left))
    return filler


def check_whole(folder: Path) -> list[str]:
    """Ids of the records there, each of which can be read, and nothing half written beside them."""
    assert not list(folder.rglob("*.part"))
    return [json.loads(path.read_text())["id"] for path in folder.glob("*.json")]


def test_results_that_do_not_fit(bench: Run, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 256 << 10) as disk:
        out = disk / "results"
        filler = fill(disk, 10 << 10)  # room for one record, or two
        done = bench("run", *CELLS, *TINY, "--out", str(out))
        assert done.returncode == 1, done.stderr
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) <= 3
        before = check_whole(out)
        assert len(before) < 3
        filler.unlink()
        again = bench("run", *CELLS, *TINY, "--out", str(out))
        assert again.returncode == 0, again.stderr
        assert len(set(check_whole(out)) | set(before)) == 3


def test_temporary_files_that_do_not_fit(bench: Run, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 64 << 10) as disk:
        fill(disk, 4 << 10)
        done = bench("run", *CELLS, *TINY, env={"TMPDIR": str(disk)})
        assert done.returncode == 1
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
    results = tmp_path / "home" / "results"
    assert check_whole(results) == []
    assert bench("run", *CELLS, *TINY).returncode == 0
    assert len(check_whole(results)) == 3


def test_a_cache_that_does_not_fit(bench: Run, tmp_path: Path) -> None:
    warm = Path(os.environ["BENCH_CACHE_DIR"])
    kept = [path for path in (warm / "vectors").glob("*.sqlite") if "toy" not in path.name]
    size = sum(path.stat().st_size for path in kept)
    with small_disk(tmp_path / "small", size + (2 << 20)) as disk:
        (disk / "vectors").mkdir()
        for path in kept:
            shutil.copy(path, disk / "vectors" / path.name)
        filler = fill(disk, 8 << 10)
        done = bench("run", *CELLS, *TINY, env={"BENCH_CACHE_DIR": str(disk)})
        said = done.stdout + done.stderr
        assert done.returncode == 1
        assert "Traceback" not in said
        assert "full" in said or "No space left" in said
        filler.unlink()
        again = bench("run", *CELLS, *TINY, env={"BENCH_CACHE_DIR": str(disk)})
        assert again.returncode == 0, again.stdout + again.stderr
        assert len(check_whole(tmp_path / "home" / "results")) == 3
