"""The wall between attack and key: runs an attack in a process of its own, and brings back its guess or the reason.

The key never leaves this process. Time, memory and the size of the answer are limited here; whatever the attack
does, it costs its own cell only.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import channel
from .types import Floats, Guess

HOME = Path(__file__).resolve().parent.parent
PREFIX = "hideseek-view-"
FOLDERS = ("BENCH_DATA_DIR", "BENCH_MODELS_DIR", "BENCH_CACHE_DIR")
# Processes of attacks that are running, so that an interrupted run can end them from another thread.
_running: set[int] = set()


@dataclass(frozen=True)
class Limits:
    timeout_s: float = 3600.0
    memory_mib: int = 8192
    threads: int | None = None


@dataclass(frozen=True)
class Outcome:
    """`guess` if all went well, else `status` failed or timeout, and `reason`."""

    status: str
    guess: Guess | None
    reason: str | None
    seconds: float
    peak_mib: float
    used: tuple[str, ...] = ()


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A folder for one view, gone afterwards; those that a killed run left behind go as well."""
    base = Path(tempfile.gettempdir())
    for old in base.glob(f"{PREFIX}*"):
        with contextlib.suppress(ValueError, OSError):
            if not _alive(int(old.name[len(PREFIX) :].split("-")[0])):
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
    oracle: Callable[[Floats], Floats],
    stage: Callable[[str], None],
) -> Outcome:
    """Run the attack on the view in `folder`."""
    task = {"attack": attack, "rng": rng, "memory_mib": limits.memory_mib}
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
    ours, theirs = socket.socketpair()
    start = time.monotonic()
    with (folder / "log.txt").open("wb") as log, ours:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "bench.child", str(folder), str(theirs.fileno())],
                cwd=HOME,
                env=_environment(limits),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        _running.add(process.pid)
        try:
            status, guess, reason, used = _listen(ours, start + limits.timeout_s, limits, oracle, stage)
        finally:
            peak = _peak_mib(process.pid)
            # The whole session: an attack must not leave processes behind that outlive its cell.
            _kill(process.pid)
            _running.discard(process.pid)
            process.wait()
    if status == "gone":
        status, reason = "failed", _why_gone(process.returncode, folder)
    return Outcome(status, guess, reason, time.monotonic() - start, peak, used)


def end_all() -> None:
    """End every attack that is running."""
    for pid in list(_running):
        _kill(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _listen(
    sock: socket.socket,
    deadline: float,
    limits: Limits,
    oracle: Callable[[Floats], Floats],
    stage: Callable[[str], None],
) -> tuple[str, Guess | None, str | None, tuple[str, ...]]:
    late = ("timeout", None, f"it took longer than its limit of {limits.timeout_s:g} s (--timeout)", ())
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([sock], [], [], left)[0]:
            return late
        try:
            sock.settimeout(max(0.1, deadline - time.monotonic()))
            kind, facts, arrays = channel.receive(sock)
        except TimeoutError:
            return late
        except (EOFError, ConnectionError):
            return "gone", None, None, ()
        except channel.BadMessage as error:
            return "failed", None, f"it sent garbage instead of a guess: {error}", ()
        if kind == "stage":
            stage(str(facts.get("text", "")))
        elif kind == "oracle":
            try:
                _answer(sock, oracle, arrays)
            except TimeoutError:
                return late
            except ConnectionError:  # the attack died while it waited
                return "gone", None, None, ()
        elif kind == "error":
            return "failed", None, str(facts.get("reason", "it failed without a word")), ()
        elif kind == "guess":
            used = tuple(map(str, facts.get("used") or ()))
            return (
                "ok",
                _guess(facts, arrays),
                None,
                used,
            )


def _guess(facts: dict[str, Any], arrays: dict[str, Any]) -> Guess:
    trail = {name[len(channel.TRAIL) :]: array for name, array in arrays.items() if name.startswith(channel.TRAIL)}
    plain = {name: array for name, array in arrays.items() if not name.startswith(channel.TRAIL)}
    return Guess(texts=facts.get("texts"), details=facts.get("details") or {}, trail=trail, **plain)


def _answer(sock: socket.socket, oracle: Callable[[Floats], Floats], arrays: dict[str, Any]) -> None:
    try:
        encodings = np.asarray(oracle(arrays["vectors"]), dtype=np.float32)
    except Exception as error:  # whatever the defense makes of the attack's question is the attack's to hear
        channel.send(sock, "refusal", {"reason": f"the oracle could not answer: {error}"})
    else:
        channel.send(sock, "answer", encodings=encodings)


def check(guess: Guess, items: int, rows: int, dim: int, picture: tuple[int, ...] = ()) -> str | None:
    """What is wrong with a guess for this release, in words for its author; None if nothing is."""
    given = [name for name in ("ranking", "vectors", "texts", "images") if getattr(guess, name) is not None]
    if len(given) != 1:
        return f"a guess holds exactly one of ranking, vectors and texts; this one holds {given or 'none'}"
    if (given == ["images"]) != bool(picture):
        return f"a guess of {given[0]} does not fit: the private examples are {'pictures' if picture else 'text'}"
    if guess.images is not None:
        shape = np.asarray(guess.images).shape
        if len(shape) != 5 or shape[0] != items or not shape[1] or shape[2:] != picture:
            return f"the pictures have shape {shape}; expected {items} × dummies × {' × '.join(map(str, picture))}"
    if guess.ranking is not None:
        ranking = np.asarray(guess.ranking)
        if ranking.ndim != 2 or len(ranking) != items or not ranking.shape[1]:
            return f"the ranking has shape {ranking.shape}; expected {items} × t, a row for each released item"
        if not np.issubdtype(ranking.dtype, np.integer):
            return f"the ranking holds {ranking.dtype} values; expected whole row numbers of the corpus"
        if ranking.min() < 0 or ranking.max() >= rows:
            return f"the ranking names row {ranking.max()} or {ranking.min()} of a corpus of {rows} rows"
    if guess.vectors is not None:
        vectors = np.asarray(guess.vectors)
        if vectors.ndim != 2 or vectors.shape[1] != dim or not len(vectors):
            return f"the vectors have shape {vectors.shape}; expected r × {dim}"
        if not np.isfinite(vectors).all():
            return "the vectors hold NaN or infinite values"
    if guess.texts is not None and len(guess.texts) != items:
        return f"{len(guess.texts)} texts were guessed for {items} released items"
    if guess.confidence is not None:
        confidence = np.asarray(guess.confidence)
        if confidence.shape != (items,) or not np.isfinite(confidence).all():
            return f"confidence has shape {confidence.shape}; expected {items} finite numbers"
    return None


def _environment(limits: Limits) -> dict[str, str]:
    env = dict(os.environ)
    # The attack works in a folder of its own, where relative paths would point nowhere.
    env |= {name: os.path.abspath(env[name]) for name in FOLDERS if env.get(name)}
    if limits.threads:
        env |= {name: str(limits.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    return env


def _peak_mib(pid: int) -> float:
    """The most memory the process has held; 0 where that cannot be known, or the process is gone.

    Not wait4's ru_maxrss: that starts from the memory of the parent, from which the process was forked.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _why_gone(code: int, folder: Path) -> str:
    tail = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    said = f"; its last words: {tail[0][:200]}" if tail else ""
    if code < 0:
        name = signal.Signals(-code).name
        hint = ", perhaps for want of memory" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}{said}"
    return f"its process ended with status {code} before it gave a guess{said}"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
