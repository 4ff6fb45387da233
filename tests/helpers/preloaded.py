"""`python -m bench` in a process of its own, without importing the numerical libraries for every call.

They cost two seconds each time, and tests call the command line some two hundred times. A server that has imported them
forks once per call. The fork has its own working folder, environment and output, and runs `python -m bench` from its
first line. Where the start of a fresh interpreter is the point, tests take `fresh_bench`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, NoReturn

# Imported by most runs. Nothing of bench: what a module of this project does when it is imported happens in each call.
LIBRARIES = (
    *("numpy", "scipy.stats", "scipy.optimize", "sklearn.feature_extraction.text", "pandas", "pyarrow", "pydantic"),
    *("rich.console", "rich.table", "threadpoolctl", "torch", "matplotlib.figure"),
)


class Server:
    """Answers one call at a time; started at the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._replies = -1

    def run(
        self, args: tuple[str, ...], cwd: Path, env: dict[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        process = self._started()
        assert process.stdin is not None
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            call = {"args": args, "cwd": str(cwd), "env": env, "out": str(out), "err": str(err)}
            process.stdin.write(json.dumps(call).encode() + b"\n")
            process.stdin.flush()
            status = self._reply(timeout)
            said = [path.read_text(encoding="utf-8") for path in (out, err)]
        if status is None:
            self.close()
            raise subprocess.TimeoutExpired(["bench", *args], timeout, *said)
        return subprocess.CompletedProcess(["bench", *args], status, *said)

    def close(self) -> None:
        """Ends it with whatever it has started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            os.close(self._replies)
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._replies, theirs = os.pipe()
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs],
                start_new_session=True,
            )
            os.close(theirs)
        return self._process

    def _reply(self, timeout: float) -> int | None:
        ready, _, _ = select.select([self._replies], [], [], timeout)
        reply = os.read(self._replies, 100) if ready else b""
        return int(reply) if reply else None


def serve(replies: int) -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # or every collection in a fork would copy the pages of all that was imported
    requests = os.fdopen(os.dup(0), "rb")
    for line in iter(requests.readline, b""):
        pid = os.fork()
        if pid == 0:
            os.close(replies)
            requests.close()
            _become(json.loads(line))
        _, status = os.waitpid(pid, 0)
        os.write(replies, b"%d" % os.waitstatus_to_exitcode(status))


def _become(call: dict[str, Any]) -> NoReturn:
    """`python -m bench` with these arguments."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, call["out"], os.O_WRONLY | os.O_CREAT),
        (2, call["err"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["env"])
    tempfile.tempdir = None  # decided anew, by this environment
    sys.path[0] = call["cwd"]
    sys.argv = ["bench", *call["args"]]
    status: Any = 0
    try:
        runpy.run_module("bench", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # taking down all that was imported would take longer than the call itself


if __name__ == "__main__":
    serve(int(sys.argv[1]))
