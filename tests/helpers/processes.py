"""Commands that a test sends signals to: started so that they hear them, waited for, ended with all they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path


@contextlib.contextmanager
def running(
    words: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, output: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """The command while it runs; whatever happens, it ends with all that it started."""
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=output,
        stderr=output,
        text=True,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(
    happened: Callable[[], bool], process: subprocess.Popen[str] | None = None, seconds: float = 120
) -> None:
    """Until this is so; fails if the process that should bring it about has ended, or after so many seconds."""
    end = time.monotonic() + seconds
    while not happened():
        if process is not None and process.poll() is not None:
            assert happened(), f"the command ended before it happened: {process.communicate()}"
            return
        assert time.monotonic() < end, f"it did not happen within {seconds:.0f} s"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """A process that has ended, and that nobody has asked about yet, is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def heed_ctrl_c() -> None:
    # A shell starts its background jobs with SIGINT ignored, and their children inherit that: Python then installs no
    # handler, and the command would not hear of Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
