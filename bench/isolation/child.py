"""The attack's own process: opens the view, runs the attack, sends the guess back.

Started by bench.isolation.process as `python -m bench.isolation.child FOLDER FD` or, sealed, by bench.isolation.start.
It is handed the folder of the view, one end of a socket, and nothing else; everything the attack prints goes to a log
that the parent keeps.
"""

from __future__ import annotations

import sys

# `-m` puts the current folder first; in a checkout its datasets/ would shadow Hugging Face's `datasets`.
if __name__ == "__main__" and "site-packages" not in sys.path[0]:
    sys.path.pop(0)

import json
import os
import socket
import threading
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from bench import ROOT
from bench.arrays import Floats
from bench.errors import BenchError
from bench.isolation import audit, channel, limits, sandbox
from bench.isolation.view import View
from bench.plugins import options
from bench.plugins.registry import Entry
from bench.scoring import packing
from bench.types import Guess

REASON_LIMIT = 2000
FRAMES = 15
# What a sealed attack may look at without a word in its record: the system, its view, the code of this project.
READABLE = (*sandbox.SYSTEM, str(sandbox.VIEW), "/sys", "/proc", "/etc", *(str(ROOT / name) for name in sandbox.CODE))


def main() -> None:
    folder, fd = Path(sys.argv[1]), int(sys.argv[2])
    task: dict[str, Any] = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    _die_with_parent(task["sealed"])
    if not task["sealed"]:  # in the sandbox they are set already
        limits.restrict(int(task["memory_mib"]), sealed=False)
    sock = socket.socket(fileno=fd)
    os.chdir(task["scratch"])
    # After this the attack's own code is loaded for the first time.
    tried = audit.watch((*READABLE, *_plugin_files(task)), (task["scratch"], "/dev")) if task["sealed"] else {}
    try:
        guess, view = _run(folder, task, sock)
        if task["sealed"]:
            _look_back(tried, view, task["scratch"])
        facts, arrays = packing.pack(guess)
        channel.send(sock, "guess", {"used": sorted(view.used), "attempts": tried, **facts}, **arrays)
    except MemoryError:
        reason = f"it needed more than its memory limit of {task['memory_mib']} MiB"
        channel.send(sock, "error", {"reason": reason, "attempts": tried})
    except BaseException as error:
        facts = {"reason": _reason(error, task)[:REASON_LIMIT], "attempts": tried, "traceback": _traceback(error)}
        channel.send(sock, "error", facts)
    sys.stdout.flush()
    sys.stderr.flush()
    # The parent notes what was used and ends this process with all it left behind; should it be gone, so are we.
    sock.recv(1)
    os._exit(0)


def _look_back(tried: dict[str, int], view: View, scratch: str) -> None:
    """What no event tells of, but can be seen when the attack has ended."""
    for word in view.refused:
        tried[f"read view.{word} without declaring it"] = 1
    space = os.statvfs(scratch)
    if space.f_bavail * 20 < space.f_blocks:
        tried["filled its scratch folder"] = 1


def _plugin_files(task: dict[str, Any]) -> list[str]:
    """Python looks for a compiled copy beside a file that it loads."""
    return [place for path in task["readable"] for place in (path, str(Path(path).parent / "__pycache__"))]


def _die_with_parent(sealed: bool) -> None:
    """A killed run must not leave attacks behind that go on computing for nobody."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
        if os.getppid() == 1 and not sealed:  # in the sandbox, process 1 is the sandbox's own
            os._exit(1)


def _run(folder: Path, task: dict[str, Any], sock: socket.socket) -> tuple[Guess, View]:
    turn = threading.Lock()  # an attack may ask the oracle from several threads

    def oracle(vectors: Floats) -> Floats:
        with turn:
            channel.send(sock, "oracle", vectors=np.asarray(vectors, dtype=np.float32))
            kind, facts, arrays = channel.receive(sock)
            if kind != "answer":
                raise ValueError(facts.get("reason", "the oracle gave no answer"))
            return arrays["encodings"]

    def stage(text: str) -> None:
        with turn:
            channel.send(sock, "stage", {"text": str(text)[:200]})

    view = View(folder, oracle=oracle, stage=stage, make=_make)
    stage("starting")
    guess = _make("attack", task["attack"]).run(view, np.random.default_rng(task["rng"]))
    if not isinstance(guess, Guess):
        raise TypeError(f"run() returned {type(guess).__name__}, not a Guess")
    return guess, view


def _make(kind: str, reference: dict[str, Any]) -> Any:
    entry = Entry(kind, reference["name"], reference["module"], reference["cls"], reference["module"])
    return options.restore(entry.load(), reference["options"])


def _reason(error: BaseException, task: dict[str, Any]) -> str:
    if "can't allocate memory" in str(error) or "bad_alloc" in str(error):
        return f"it needed more than its memory limit of {task['memory_mib']} MiB"
    frames = _frames(error) if not isinstance(error, BenchError) else []
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Where in the plugin it happened is what its author wants to know; our own frames say nothing."""
    return [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name != "child.py"]


def _traceback(error: BaseException) -> list[str]:
    """The last of its frames, with file names in place of paths, which are this machine's; none where the attack says
    in a line what it needs."""
    if isinstance(error, BenchError):
        return []
    for frame in (frames := _frames(error)[-FRAMES:]):
        frame.filename = Path(frame.filename).name
    return [line.rstrip()[:300] for block in traceback.format_list(frames) for line in block.rstrip().splitlines()]


if __name__ == "__main__":
    main()
