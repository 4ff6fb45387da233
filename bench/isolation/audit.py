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
# Which arguments of an event are paths that it changes, and which that it only looks at; behind each, where there is
# one, the argument with the folder that a relative path starts from. What a link points to is text, seen when it is
# followed.
CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "shutil.rmtree": ((0, 1),),
    "shutil.copyfile": ((1, None),),
    "shutil.copytree": ((1, None),),
    "shutil.move": ((0, None), (1, None)),
}
READS: dict[str, tuple[tuple[int, int | None], ...]] = {
    **dict.fromkeys(LISTING, ((0, None),)),
    "os.link": ((0, 2),),
    "shutil.copyfile": ((0, None),),
    "shutil.copytree": ((0, None),),
}
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
            elif event == "open":
                _path(args, 0, None, _writes(args))
            else:
                for path, start in CHANGES.get(event, ()):
                    _path(args, path, start, True)
                for path, start in READS.get(event, ()):
                    _path(args, path, start, False)
        finally:
            busy = False

    def _path(args: tuple[Any, ...], at: int, start: int | None, changes: bool) -> None:
        given = args[at] if at < len(args) else None
        if not isinstance(given, str | bytes | os.PathLike):
            return  # a file that is already open
        path = os.path.realpath(os.path.join(_folder(args, start), os.fsdecode(given))) + os.sep
        if OTHERS.match(path.rstrip(os.sep)) and not path.startswith(f"/proc/{os.getpid()}/"):
            note("looked at other processes")
        elif changes:
            if not path.startswith(may_write):
                note(f"tried to write {_short(path)}")
        elif not path.startswith(may_read):
            note(f"looked for {_short(path)}")

    sys.addaudithook(heard)
    return tried


def _folder(args: tuple[Any, ...], start: int | None) -> str:
    """The folder that a relative path starts from, if an event names one that is open."""
    fd = args[start] if start is not None and start < len(args) else None
    if not isinstance(fd, int) or fd < 0:
        return ""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def _writes(args: tuple[Any, ...]) -> bool:
    mode, flags = args[1] if len(args) > 1 else None, args[2] if len(args) > 2 else 0
    asked = bool(set(mode) & set("wax+")) if isinstance(mode, str) else False
    return asked or bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _short(path: str) -> str:
    path = path.rstrip(os.sep)
    return path if len(path) <= 80 else f"…{path[-79:]}"
