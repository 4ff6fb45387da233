"""Other processes: whether they are alive, their descendants, their peak memory; and when this one hears Ctrl-C."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def kill_session(pid: int) -> None:
    """Kill a process with its whole session: what it started must not outlive it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def kill_all(pid: int, family: list[int]) -> None:
    """Kill a process with its session and what else is known to be its family's."""
    kill_session(pid)
    for other in family:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(other, signal.SIGKILL)


def descendants(pid: int, most: int) -> list[int]:
    """The process and its descendants, each after its parent; not many more than `most`.

    Without a look at all others, so it is quick. One whose parent has ended is found only where `pid` stands for a
    process namespace.
    """
    if not Path("/proc/thread-self/children").exists():  # a kernel that was built without it
        return process_tree(pid)
    found = [pid] if Path(f"/proc/{pid}").exists() else []
    for parent in found:  # grows as it goes
        if len(found) > most:
            break
        for thread in _numbers(f"/proc/{parent}/task"):
            with contextlib.suppress(OSError, ValueError):
                children = Path(f"/proc/{parent}/task/{thread}/children").read_text(encoding="ascii")
                found += [int(word) for word in children.split()]
    return found


def process_tree(pid: int) -> list[int]:
    """The process, its descendants and all of its session, sorted by process id; [] where unknown."""
    parents: dict[int, int] = {}
    sessions: dict[int, int] = {}
    for number in _numbers("/proc"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The second field is the name in brackets, which may hold anything; state, parent, group, session follow.
            text = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
            fields = text.rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[number], sessions[number] = int(fields[1]), int(fields[3])
    found = {pid} & parents.keys()
    grown = True
    while grown:
        more = {p for p, parent in parents.items() if parent in found or sessions[p] == pid} - found
        found |= more
        grown = bool(more)
    return sorted(found)


def _numbers(folder: str) -> list[int]:
    """The numbers that a folder of /proc lists. Not by a glob, which fails when a process ends while it looks."""
    try:
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    except OSError:
        return []


def peak_mib(pids: list[int]) -> float:
    """The most memory that any one of them has held; 0 where that cannot be known.

    Not wait4's ru_maxrss: that starts from the memory of the parent, from which the process was forked.
    """
    held = [0.0]
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith("VmHWM:"):
                    held.append(int(line.split()[1]) / 1024)
    return max(held)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: torch aborts the whole process if it comes while torch is being loaded."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def keep_interrupts() -> None:
    """Python prints a Ctrl-C that comes while an object is being deleted, such as a file's lock, and goes on as if
    nothing had been: let it come again."""
    if sys.unraisablehook is not _unraisable:
        _hooks[:] = [sys.unraisablehook]
        sys.unraisablehook = _unraisable


_hooks: list[Any] = []
# Seconds after which the deletion is over.
_AGAIN = 0.05


def _unraisable(lost: Any) -> None:
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        _hooks[0](lost)
        return
    again = threading.Timer(_AGAIN, _thread.interrupt_main)
    again.daemon = True
    again.start()
