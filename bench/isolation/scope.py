"""A control group for each sealed attack, where systemd gives this user one: the kernel's own limit, on all of it.

What the watchdog cannot see, such as buffers of sockets and other memory of the kernel, counts there too. Elsewhere, as
in most containers, the watchdog is alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache

from bench.isolation.limits import PROCESSES
from bench.isolation.sandbox import OUTSIDE

# The watchdog's words are clearer than the kernel's, which says nothing: it is to come first.
MARGIN_MIB = 128
SECONDS = 5
# By which systemd-run finds the user's manager; bubblewrap is not told.
_BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")


def around(command: list[str], memory_mib: int) -> tuple[list[str], dict[str, str]]:
    """The command in a scope of its own, if there is one to be had, and the environment to start it with."""
    if not is_offered():
        return command, OUTSIDE
    limits = ["-p", f"TasksMax={8 * PROCESSES}", "-p", "MemorySwapMax=0"]  # tasks are threads
    if memory_mib:
        limits += ["-p", f"MemoryMax={memory_mib + memory_mib // 20 + MARGIN_MIB}M"]
    told = [f"{name}={value}" for name, value in OUTSIDE.items()]
    return [*_systemd_run(), *limits, "--", shutil.which("env") or "env", "-i", *told, *command], _environment()


@lru_cache(maxsize=1)
def is_offered() -> bool:
    """Whether systemd runs here and makes a scope for this user; asked once."""
    if shutil.which("systemd-run") is None:
        return False
    trial = [*_systemd_run(), "-p", "MemoryMax=1G", "--", shutil.which("true") or "true"]
    try:
        done = subprocess.run(trial, env=_environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _systemd_run() -> list[str]:
    manager = [] if os.geteuid() == 0 else ["--user"]
    return [shutil.which("systemd-run") or "systemd-run", *manager, "--scope", "--quiet", "--collect"]


def _environment() -> dict[str, str]:
    return OUTSIDE | {name: os.environ[name] for name in _BUS if name in os.environ}
