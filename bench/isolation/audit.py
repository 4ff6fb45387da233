"""An audit hook that records what a sealed attack tried beyond its view.

Python's audit events report files, sockets and heap walks. An attack could circumvent them: the sandbox is what keeps
it in, the hook makes an attempt visible to a reviewer.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from typing import Any

HEAP = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
NETWORK = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
LISTING = ("os.listdir", "os.scandir", "os.walk", "glob.glob")
CHANGING = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree")
OTHERS = re.compile(r"/proc(/?$|/(?!self\b|thread-self\b)\d+)")
# The project's data sets, which no attack has a need for: what it may see of them is in its view.
DATA = "bench.datasets"
MOST = 20


def watch(readable: Iterable[str], writable: Iterable[str]) -> dict[str, int]:
    """What was tried, and how often; it fills as the attack goes on."""
    tried: dict[str, int] = {}
    inside = (*readable, *writable, sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), *sys.path)
    may_read = tuple(os.path.realpath(path) + os.sep for path in inside if path)
    may_write = tuple(os.path.realpath(path) + os.sep for path in writable)
    busy = False

    def note(what: str) -> None:
        if what in tried or len(tried) < MOST:
            tried[what] = tried.get(what, 0) + 1

    def heard(event: str, args: tuple[Any, ...]) -> None:
        nonlocal busy
        if busy:  # what this function itself opens or resolves is not the attack's doing
            return
        busy = True
        try:
            if event in HEAP:
                note("walked the heap")
            elif event in NETWORK:
                note("used a socket")
            elif event == "import" and str(args[0]).startswith(DATA):
                note(f"looked for {args[0]}")
            elif event == "os.kill" and args[0] not in (0, os.getpid()):
                note("sent a signal to another process")
            elif event == "open" or event in LISTING or event in CHANGING:
                _path(event, args)
        finally:
            busy = False

    def _path(event: str, args: tuple[Any, ...]) -> None:
        if not args or not isinstance(args[0], str | bytes):
            return  # a file that is already open
        path = os.path.realpath(os.fsdecode(args[0])) + os.sep
        if OTHERS.match(path.rstrip(os.sep)) and not path.startswith(f"/proc/{os.getpid()}/"):
            note("looked at other processes")
        elif event in CHANGING or (event == "open" and _writes(args)):
            if not path.startswith(may_write):
                note(f"tried to write {_short(path)}")
        elif not path.startswith(may_read):
            note(f"looked for {_short(path)}")

    sys.addaudithook(heard)
    return tried


def _writes(args: tuple[Any, ...]) -> bool:
    mode, flags = args[1] if len(args) > 1 else None, args[2] if len(args) > 2 else 0
    asked = bool(set(mode) & set("wax+")) if isinstance(mode, str) else False
    return asked or bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _short(path: str) -> str:
    path = path.rstrip(os.sep)
    return path if len(path) <= 80 else f"…{path[-79:]}"
