"""What a family of processes holds together, and how it is ended when that is too much."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time

import pytest

from bench.isolation import watchdog
from bench.isolation.watchdog import MIB, Watchdog
from tests.helpers.processes import is_alive, wait_until

SHARED = "import mmap, time; m = mmap.mmap(-1, 300 << 20); m[:] = b'x' * len(m); print(flush=True); time.sleep(60)"
CHILDREN = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        kept = bytearray(b"x") * (60 << 20)
        time.sleep(60)
time.sleep(60)
"""
FORKED = """
import os, time
kept = bytearray(b"x") * (100 << 20)
for _ in range(4):
    if os.fork() == 0:
        break
print(flush=True)
time.sleep({seconds})
"""


def start(code: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("code", [SHARED, CHILDREN])
def test_a_family_that_holds_too_much_is_ended(code: str) -> None:
    with start(code) as process:
        with Watchdog(process.pid, 200, sealed=False) as watch:
            wait_until(lambda: watch.reason is not None, seconds=30)
        assert process.wait(30) == -9
        assert watch.reason == "it needed more than its memory limit of 200 MiB, all of its processes together"
        assert watch.peak_mib > 200


def test_memory_that_forked_processes_share_counts_once() -> None:
    with start(FORKED.format(seconds=1)) as process:
        with Watchdog(process.pid, 250, sealed=False) as watch:
            assert process.wait(30) == 0
        assert watch.reason is None
        assert watch.peak_mib < 250


def test_shared_memory_counts_by_its_size_each_once() -> None:
    with start(SHARED) as process:
        assert process.stdout is not None
        process.stdout.readline()
        family = [process.pid]
        assert watchdog.shared_mappings(family) == 300 * MIB
        assert watchdog.shared_mappings(family * 2) == 300 * MIB
        for held in (watchdog.quick(family, 0), watchdog.exact(family, 0)):
            assert held.shared >= 300 * MIB
            assert 1 * MIB < held.private < 100 * MIB
        assert watchdog.quick(family, 900 * MIB).total > 900 * MIB
        process.kill()


def test_pages_that_show_in_no_process_count_too() -> None:
    with mmap.mmap(-1, 64 * MIB) as block:
        block[:] = b"x" * len(block)
        block.madvise(mmap.MADV_DONTNEED)
        assert watchdog.shared_mappings([os.getpid()]) >= 64 * MIB


def test_files_that_are_mapped_do_not_count(tmp_path: object) -> None:
    """A view's arrays are mapped, and may exceed the memory limit."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.truncate(64 * MIB)
        before = watchdog.shared_mappings([os.getpid()])
        with mmap.mmap(file.fileno(), 64 * MIB, prot=mmap.PROT_READ) as block:
            assert len(block) == 64 * MIB
            assert watchdog.shared_mappings([os.getpid()]) == before


def test_what_cannot_be_watched_does_not_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(family: list[int], hidden: int) -> None:
        raise ValueError("no such line")

    monkeypatch.setattr(watchdog, "quick", broken)
    with start("import time; time.sleep(60)") as process:
        with Watchdog(process.pid, 100, sealed=False) as watch:
            assert process.wait(30) == -9
        assert watch.reason == "what it held could not be found out (ValueError('no such line'))"


def test_no_limit_is_no_limit_and_one_that_has_gone_is_no_error() -> None:
    with start("pass") as process, Watchdog(process.pid, 0, sealed=False) as watch:
        process.wait(30)
        time.sleep(0.2)
    assert watch.reason is None
    assert watchdog.quick([process.pid], 0).total == 0
    assert watchdog.exact([process.pid], 0).total == 0
    assert not is_alive(process.pid)
