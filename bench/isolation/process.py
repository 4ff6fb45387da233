"""Process isolation: runs an attack in a process of its own and returns its guess, or the reason why there is none.

The key never leaves this process. Time, memory and the size of the answer are limited here; whatever the attack
does, it costs its own cell only. That guards against accidents. Against malice, a sealed attack runs in
bench.isolation.sandbox.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.isolation import dialogue, sandbox, scope
from bench.isolation.dialogue import Oracle
from bench.isolation.output import Followed
from bench.isolation.watchdog import Watchdog
from bench.isolation.workspace import PREFIX, workspace
from bench.system import processes
from bench.system.text import printable
from bench.system.threads import thread_variables
from bench.types import Guess

__all__ = ["PREFIX", "Limits", "Outcome", "Seal", "end_all", "run", "workspace"]

HOME = Path(__file__).resolve().parents[2]
FOLDERS = ("BENCH_DATA_DIR", "BENCH_MODELS_DIR", "BENCH_CACHE_DIR")
# Processes of attacks that are running, so that an interrupted run can end them from another thread.
_running: set[int] = set()


@dataclass(frozen=True)
class Limits:
    timeout_s: float = 3600.0
    memory_mib: int = 8192
    threads: int | None = None
    verbose: bool = False
    """show what the attack prints"""


@dataclass(frozen=True)
class Seal:
    """For code that is not trusted; `needed` are the files it cannot do without."""

    needed: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """`guess` if all went well, else `status` failed or timeout, and `reason`."""

    status: str
    guess: Guess | None
    reason: str | None
    seconds: float
    peak_mib: float
    used: tuple[str, ...] = ()
    attempts: dict[str, int] = field(default_factory=dict)
    """what a sealed attack tried beyond its view, as far as it was seen"""
    left_behind: int = 0
    """processes that were still running when the attack had ended; they were ended too"""
    traceback: tuple[str, ...] = ()
    """of the attack's own error"""


def run(
    folder: Path,
    attack: dict[str, Any],
    rng: int,
    *,
    limits: Limits,
    oracle: Oracle | None,
    stage: Callable[[str], None],
    seal: Seal | None = None,
) -> Outcome:
    """Run the attack on the view in `folder`. Without an oracle, a question to it ends the attack."""
    scratch = sandbox.SCRATCH if seal else folder / "scratch"
    scratch.mkdir(exist_ok=True)
    task = {
        "attack": attack,
        "rng": rng,
        "memory_mib": limits.memory_mib,
        "scratch": str(scratch),
        "sealed": seal is not None,
        "readable": [str(path) for path in seal.needed] if seal else [],
    }
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    ours, theirs = socket.socketpair()
    start = time.monotonic()
    with (folder / "log.txt").open("wb") as log, ours:
        with theirs:
            command, env = _command(folder, theirs.fileno(), limits, seal)
            process = subprocess.Popen(
                command,
                cwd=HOME,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        _running.add(process.pid)
        watchdog = Watchdog(process.pid, limits.memory_mib, sealed=seal is not None)
        late = f"it took longer than its limit of {limits.timeout_s:g} s (--timeout)"
        try:
            with watchdog, Followed(folder / "log.txt", attack["name"]) if limits.verbose else nullcontext():
                reply = dialogue.listen(ours, start + limits.timeout_s, late, oracle, stage)
        finally:
            family = processes.process_tree(process.pid)
            peak = processes.peak_mib(family)
            # The whole session: an attack must not leave processes behind that outlive its cell.
            processes.kill_all(process.pid, family)
            _running.discard(process.pid)
            process.wait()
    status, reason = reply.status, reply.reason
    if status == "gone":
        status, reason = "failed", watchdog.reason or _why_gone(process.returncode, folder)
    seconds = time.monotonic() - start
    own = 3 if seal else 1  # bubblewrap, the first process of its namespace, and the attack
    left = max(0, len(family) - own)
    return Outcome(status, reply.guess, reason, seconds, peak, reply.used, reply.attempts, left, reply.traceback)


def end_all() -> None:
    """End every attack that is running."""
    for pid in list(_running):
        processes.kill_session(pid)


def _command(folder: Path, socket_fd: int, limits: Limits, seal: Seal | None) -> tuple[list[str], dict[str, str]]:
    """What to start, and with which environment."""
    child = "bench.isolation.child"
    if seal is None:
        return [sys.executable, "-m", child, str(folder), str(socket_fd)], _environment(limits)
    inner = [child, str(sandbox.VIEW), str(socket_fd)]
    command = sandbox.command(folder, seal.needed, sandbox.environment(limits.threads), inner, limits.memory_mib)
    return scope.around(command, limits.memory_mib)


def _environment(limits: Limits) -> dict[str, str]:
    env = dict(os.environ)
    # The attack works in a folder of its own, where relative paths would point nowhere.
    env |= {name: os.path.abspath(env[name]) for name in FOLDERS if env.get(name)}
    return env | thread_variables(limits.threads)


def _why_gone(code: int, folder: Path) -> str:
    with (folder / "log.txt").open("rb") as log:  # the end of it: it may be as long as the attack liked
        log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
        tail = log.read().decode("utf-8", errors="replace").strip().splitlines()[-1:]
    output = f"; last line of its output: {printable(tail[0])[:200]}" if tail else ""
    if code < 0:
        name = next((s.name for s in signal.Signals if s == -code), f"signal {-code}")
        hint = ", perhaps because it ran out of memory" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}{output}"
    return f"its process ended with status {code} before it gave a guess{output}"
