"""Watches what all processes of an attack hold together, and ends them when it is too much.

RLIMIT_DATA (bench.isolation.limits) bounds the private memory of one process. This bounds the rest: shared mappings,
files in memory, and the sum over processes. It also counts processes and files, for which Linux applies no limit to
root, or has none. It looks twenty times a second, a hundred times where the end is near; between two looks an attack
may get that much further.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from bench.isolation.limits import PROCESSES
from bench.system import processes

PAUSE_S, HASTE_S, REST_S = 0.05, 0.01, 0.5
# Looking may take this share of a processor; near the end, half of one.
SHARE = 0.02
# Every so many looks also at what takes longer to find out.
SELDOM, RARELY = 4, 40
# Empty files take memory, and no room in a file system.
FILES = 100_000
MIB = 1 << 20
# Of /proc/PID/status, and of smaps_rollup.
PRIVATE, SHARED = ("RssAnon", "VmSwap", "VmPTE"), ("RssShmem",)
PRIVATE_EXACT, SHARED_EXACT = ("Pss_Anon", "SwapPss"), ("Pss_Shmem",)


@dataclass(frozen=True)
class Held:
    """Bytes of memory."""

    private: int
    shared: int

    @property
    def total(self) -> int:
        return self.private + self.shared


class Watchdog:
    """Threads, while its block lasts. `reason` says why the family of `pid` was ended, if it was."""

    def __init__(self, pid: int, memory_mib: int, *, sealed: bool):
        self._pid, self._limit, self._sealed = pid, memory_mib * MIB, sealed
        self._mapped = 0
        self._ended = threading.Event()
        # Apart: to weigh a thousand processes takes a second, in which there would be many more of them.
        watches = (self._weigh, self._count) if sealed else (self._weigh,)
        self._threads = [threading.Thread(target=self._watch, args=(watch,), daemon=True) for watch in watches]
        self.reason: str | None = None
        self.peak_mib = 0.0

    def __enter__(self) -> Watchdog:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _watch(self, watch: Callable[[], None]) -> None:
        try:
            watch()
        except Exception as error:  # what cannot be watched does not go on
            self._end(f"what it held could not be found out ({error!r})"[:300], [])

    def _end(self, reason: str, family: list[int]) -> None:
        self.reason = self.reason or reason
        self._ended.set()
        processes.kill_all(self._pid, family)

    def _count(self) -> None:
        """Processes and files of the sandbox."""
        while not self._ended.wait(PAUSE_S):
            inside = _inside(self._pid)
            if inside is None:
                continue  # bubblewrap is still setting up
            with contextlib.suppress(OSError):
                if sum(name.isdigit() for name in os.listdir(inside / "proc")) > PROCESSES:
                    self._end(f"it started more than {PROCESSES} processes", [])
                if sum(space.f_files - space.f_ffree for space in _spaces(inside)) > FILES:
                    self._end(f"it made more than {FILES} files", [])

    def _weigh(self) -> None:
        """The memory of all."""
        pause, looks = HASTE_S, 0
        while not self._ended.wait(pause):
            start = time.perf_counter()
            family = processes.descendants(self._pid, PROCESSES)
            if not self._sealed and looks % RARELY == 0:  # those whose parent has ended; in a sandbox it has taken them
                family = processes.process_tree(self._pid)
            if reason := self._too_much(family, thorough=looks % SELDOM == 0):
                self._end(reason, family)
            looks += 1
            near = self.peak_mib * MIB > self._limit / 2
            cost = time.perf_counter() - start
            pause = min(REST_S, max(HASTE_S, cost) if near else max(PAUSE_S, cost / SHARE))

    def _too_much(self, family: Sequence[int], *, thorough: bool) -> str | None:
        if thorough:
            self._mapped = shared_mappings(family)
        hidden = self._mapped + (self._in_files() if self._sealed else 0)
        held = quick(family, hidden)
        if self._limit and held.total > self._limit:
            held = exact(family, hidden)  # what forked processes share is counted once
        self.peak_mib = max(self.peak_mib, held.total / MIB)
        if not self._limit or held.total <= self._limit:
            return None
        return f"it needed more than its memory limit of {self._limit // MIB} MiB, all of its processes together"

    def _in_files(self) -> int:
        inside = _inside(self._pid)
        with contextlib.suppress(OSError):
            return sum((s.f_blocks - s.f_bfree) * s.f_frsize for s in _spaces(inside)) if inside else 0
        return 0


def quick(family: Sequence[int], hidden: int) -> Held:
    """At least what they hold: memory that several share counts for each."""
    found = [_fields(f"/proc/{pid}/status") for pid in family]
    return Held(_sum(found, PRIVATE), max(hidden, _sum(found, SHARED)))


def exact(family: Sequence[int], hidden: int) -> Held:
    """What they hold, shared memory divided among those that share it. Takes longer: the kernel walks every page."""
    found = [_fields(f"/proc/{pid}/smaps_rollup") for pid in family]
    if not any("Pss_Anon" in one for one in found):  # an older kernel, or they have just ended
        return quick(family, hidden)
    return Held(_sum(found, PRIVATE_EXACT), max(hidden, _sum(found, SHARED_EXACT)))


def shared_mappings(family: Sequence[int]) -> int:
    """The size of all shared memory that no file of a file system stands for, each once.

    Its size, not what is resident: pages of it can be made to show in no process, and stay in memory.
    """
    sizes: dict[str, int] = {}
    own = _shared_memory_device()
    for pid in family:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                span, mode, _, device, inode, *_ = line.split(maxsplit=5)
                if mode[3] == "s" and device == own:
                    start, end = (int(part, 16) for part in span.split("-"))
                    sizes[inode] = max(sizes.get(inode, 0), end - start)
    return sum(sizes.values())


def _sum(found: Sequence[dict[str, int]], names: Sequence[str]) -> int:
    return sum(one.get(name, 0) for one in found for name in names)


@lru_cache(maxsize=1)
def _shared_memory_device() -> str:
    """The kernel's own file system, where shared memory without a file lies; the name of a mapping can be changed."""
    with mmap.mmap(-1, mmap.PAGESIZE) as page, contextlib.suppress(OSError):  # no /proc: no family to watch either
        start = ctypes.addressof(ctypes.c_char.from_buffer(page))
        for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
            span, _, _, device, *_ = line.split(maxsplit=5)
            if int(span.split("-")[0], 16) <= start < int(span.split("-")[1], 16):
                return device
    return ""


def _inside(pid: int) -> Path | None:
    """The root of the sandbox that the bubblewrap process `pid` has made, once it is there."""
    for child in processes.descendants(pid, 2)[1:4]:  # of the first, an ordinary user may not be shown the root
        root = Path(f"/proc/{child}/root")
        with contextlib.suppress(OSError):
            if (root / "proc").stat().st_dev != Path("/proc").stat().st_dev:
                return root
    return None


def _spaces(inside: Path) -> list[os.statvfs_result]:
    """All that the sandbox can write to."""
    return [os.statvfs(inside / name) for name in ("tmp", "dev/shm")]


def _fields(path: str) -> dict[str, int]:
    """`Name: 12 kB` of a file in /proc, in bytes; of those lines only that are ours, for a process can name itself."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            if name in (*PRIVATE, *SHARED, *PRIVATE_EXACT, *SHARED_EXACT):
                found[name] = int(value.split()[0]) << 10
    return found
