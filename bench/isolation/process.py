"""Process isolation: runs an attack in a process of its own and returns its guess, or the reason why there is none.

The key never leaves this process. Time, memory and the size of the answer are limited here; whatever the attack
does, it costs its own cell only. That guards against accidents. Against malice, a sealed attack runs in
bench.isolation.sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.arrays import Floats
from bench.isolation import channel, sandbox
from bench.isolation import guess as guesses
from bench.scoring import packing
from bench.system import processes
from bench.system.text import printable
from bench.system.threads import thread_variables
from bench.types import Guess

HOME = Path(__file__).resolve().parents[2]
PREFIX = "hideseek-view-"
FOLDERS = ("BENCH_DATA_DIR", "BENCH_MODELS_DIR", "BENCH_CACHE_DIR")
REASON_LIMIT = 2000
# Processes of attacks that are running, so that an interrupted run can end them from another thread.
_running: set[int] = set()


@dataclass(frozen=True)
class Limits:
    timeout_s: float = 3600.0
    memory_mib: int = 8192
    threads: int | None = None


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


@dataclass(frozen=True)
class _Reply:
    """What the attack's process answered in the end."""

    status: str
    guess: Guess | None = None
    reason: str | None = None
    used: tuple[str, ...] = ()
    attempts: dict[str, int] = field(default_factory=dict)


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A folder for one view, gone afterwards; those that a killed run left behind go as well."""
    base = Path(tempfile.gettempdir())
    for old in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(ValueError, OSError):
            if not processes.is_alive(int(old.name[len(PREFIX) :].split("-")[0])):
                shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(
    folder: Path,
    attack: dict[str, Any],
    rng: int,
    *,
    limits: Limits,
    oracle: Callable[[Floats], Floats] | None,
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
            process = subprocess.Popen(
                _command(folder, theirs.fileno(), limits, seal),
                cwd=HOME,
                env=None if seal else _environment(limits),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        _running.add(process.pid)
        try:
            reply = _listen(ours, start + limits.timeout_s, limits, oracle, stage)
        finally:
            family = processes.process_tree(process.pid)
            peak = processes.peak_mib(family)
            # The whole session: an attack must not leave processes behind that outlive its cell.
            processes.kill_session(process.pid)
            _running.discard(process.pid)
            process.wait()
    status, reason = reply.status, reply.reason
    if status == "gone":
        status, reason = "failed", _why_gone(process.returncode, folder)
    seconds = time.monotonic() - start
    own = 3 if seal else 1  # bubblewrap, the first process of its namespace, and the attack
    left = max(0, len(family) - own)
    return Outcome(status, reply.guess, reason, seconds, peak, reply.used, reply.attempts, left)


def end_all() -> None:
    """End every attack that is running."""
    for pid in list(_running):
        processes.kill_session(pid)


def _command(folder: Path, socket_fd: int, limits: Limits, seal: Seal | None) -> list[str]:
    place = sandbox.VIEW if seal else folder
    inner = [sys.executable, "-m", "bench.isolation.child", str(place), str(socket_fd)]
    if seal is None:
        return inner
    return sandbox.command(folder, seal.needed, sandbox.environment(limits.threads), inner)


def _listen(
    sock: socket.socket,
    deadline: float,
    limits: Limits,
    oracle: Callable[[Floats], Floats] | None,
    stage: Callable[[str], None],
) -> _Reply:
    late = _Reply("timeout", reason=f"it took longer than its limit of {limits.timeout_s:g} s (--timeout)")
    while True:
        try:
            kind, facts, arrays = channel.receive(sock, deadline=deadline)
        except TimeoutError:
            return late
        except (EOFError, ConnectionError):
            return _Reply("gone")
        except channel.BadMessage as error:
            return _Reply("failed", reason=f"it sent garbage instead of a guess: {error}"[:REASON_LIMIT])
        if kind == "stage":
            stage(printable(facts.get("text", ""))[:200])
        elif kind == "oracle":
            if oracle is None:
                return _Reply("failed", reason="it asked the oracle without declaring it: add 'oracle' to sees")
            try:
                _answer(sock, oracle, arrays)
            except TimeoutError:
                return late
            except ConnectionError:  # the attack died while it waited
                return _Reply("gone")
        elif kind == "error":
            reason = printable(facts.get("reason") or "it failed without giving a reason")[:REASON_LIMIT]
            return _Reply("failed", reason=reason, attempts=guesses.attempts(facts))
        elif kind == "guess":
            return _guessed(facts, arrays)
        else:
            return _Reply("failed", reason=f"it sent a message of an unknown kind: {printable(kind)[:40]!r}")


def _guessed(facts: dict[str, Any], arrays: dict[str, Any]) -> _Reply:
    guess, wrong = packing.read(facts, arrays)
    if guess is None:
        return _Reply("failed", reason=wrong, attempts=guesses.attempts(facts))
    return _Reply("ok", guess, None, guesses.used(facts), guesses.attempts(facts))


def _answer(sock: socket.socket, oracle: Callable[[Floats], Floats], arrays: dict[str, Any]) -> None:
    try:
        encodings = np.asarray(oracle(arrays["vectors"]), dtype=np.float32)
    except Exception as error:  # whatever the defense makes of the attack's question is the attack's to hear
        channel.send(sock, "refusal", {"reason": f"the oracle could not answer: {error}"})
    else:
        channel.send(sock, "answer", encodings=encodings)


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
