"""Attacks that try to get out, to take something along, or to take more than they are given. test_wall.py runs them
sealed. Each says in its details what it got hold of, and in its stages how far it got."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import glob
import json
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import Guess, attack

SEES = {"encodings", "corpus"}
MIB = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)
# What was allowed when this file was imported: limits must have been set before.
AT_IMPORT = {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in ("DATA", "CORE", "NPROC")}


def answer(view, **details):
    return Guess(ranking=np.zeros((len(view.encodings), 1), dtype=int), details=details)


def contents(paths, most=1 << 20):
    """What can be read of these files, as text; not of devices, which may never answer."""
    found = []
    for path in filter(os.path.isfile, paths):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            found.append(file.read(most).decode("latin-1"))
    return found


def secrets(texts):
    """The tests mark what must not be found with this word, with a hyphen, which this file has nowhere."""
    return [text[at : at + 60] for text in texts if (at := text.find("SECRET" + "-")) >= 0]


def send_raw(head, rest=b""):
    """A message of one's own making; `head` may be text already."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    with socket.socket(fileno=os.dup(int(sys.argv[2]))) as sock:
        sock.sendall(struct.pack("<Q", len(text)) + text + rest)


def fill(view, block, name=""):
    """Touch memory 8 MiB at a time, and say how far that went."""
    step = 8 * MIB
    for at in range(0, len(block), step):
        block[at : at + step] = b"x" * min(step, len(block) - at)
        view.stage(f"{name}{(at + step) // MIB}")


# Leaks.


@attack("reads-environments", sees=SEES)
@dataclass(frozen=True)
class ReadsEnvironments:
    """Of every process, the first one of the sandbox included."""

    def run(self, view, rng):
        places = [f"{place}/{what}" for place in glob.glob("/proc/[0-9]*") for what in ("environ", "cmdline", "status")]
        first = "".join(contents(["/proc/1/environ"])).split("\0")
        return answer(view, found=secrets(contents(places)), env=dict(os.environ), first=first)


@attack("reads-memory", sees=SEES)
@dataclass(frozen=True)
class ReadsMemory:
    """Of the first process of the sandbox, by way of /proc, ptrace and process_vm_readv."""

    def run(self, view, rng):
        found = []
        for line in "".join(contents(["/proc/1/maps"])).splitlines():
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            with contextlib.suppress(OSError, ValueError, OverflowError), open("/proc/1/mem", "rb") as memory:
                memory.seek(start)
                found.append(memory.read(min(end - start, MIB)).decode("latin-1"))
        return answer(view, found=secrets(found), traced=LIBC.ptrace(16, 1, 0, 0))


@attack("reads-descriptors", sees=SEES)
@dataclass(frozen=True)
class ReadsDescriptors:
    """Whatever is open in any process: a log, a socket, a file of the parent."""

    def run(self, view, rng):
        places = [path for path in glob.glob("/proc/[0-9]*/fd/*") if "socket" not in _link(path)]
        places = [path for path in places if os.path.isfile(path)]
        return answer(view, found=secrets(contents(places)))


@attack("reads-everything", sees=SEES)
@dataclass(frozen=True)
class ReadsEverything:
    """Every file that it can reach outside the libraries, also by way of other processes' roots."""

    places: str = ""

    def run(self, view, rng):
        found = []
        for top in ("/", "/proc/1/root", "/proc/1/cwd", "/proc/self/root/..", *self.places.split(";")):
            for folder, below, files in os.walk(top):
                keep = {"usr", "lib", "lib64", "proc", "sys", ".venv", "site-packages", "bench", "attacks", "defenses"}
                below[:] = [name for name in below if name not in keep]
                found += contents([os.path.join(folder, name) for name in files], 1 << 16)
        return answer(view, found=secrets(found))


@attack("calls-home", sees=SEES)
@dataclass(frozen=True)
class CallsHome:
    """By network, by a socket with a name outside any folder, by shared memory of System V."""

    port: int = 0
    name: str = ""
    key: int = 0

    def run(self, view, rng):
        found = []
        for family, place in ((socket.AF_INET, ("127.0.0.1", self.port)), (socket.AF_UNIX, f"\0{self.name}")):
            with contextlib.suppress(OSError), socket.socket(family) as sock:
                sock.settimeout(2)
                sock.connect(place)
                found.append(sock.recv(1000).decode("latin-1"))
        segment = LIBC.shmget(self.key, 0, 0)
        if segment >= 0:
            found.append("a segment of another process")
        return answer(view, found=found)


@attack("leaves-something", sees=SEES)
@dataclass(frozen=True)
class LeavesSomething:
    """For the next cell to find, and looks for what the last one left."""

    def run(self, view, rng):
        found = []
        for folder in ("/tmp", "/dev/shm", "/var/tmp", "/dev", "/run", "/view"):
            path = Path(folder, "left-behind")
            with contextlib.suppress(OSError):
                found += [f"{path} of another cell"] if path.exists() else []
                path.write_text("found in one cell")
        return answer(view, found=found)


@attack("looks-for-salts", sees={"encodings", "corpus", "defense", "encoder"})
@dataclass(frozen=True)
class LooksForSalts:
    """In its view, its task and among all live texts."""

    def run(self, view, rng):
        import gc
        import re

        texts = contents(map(str, Path("/view").rglob("*.json")), 1 << 24)
        texts += [thing for thing in gc.get_objects() if isinstance(thing, str)]
        return answer(view, found=sorted({word for text in texts for word in re.findall(r"\b[0-9a-f]{64}\b", text)}))


@attack("moves-out", sees=SEES)
@dataclass(frozen=True)
class MovesOut:
    """Out of its scratch folder, by a name that comes second."""

    place: str = ""

    def run(self, view, rng):
        Path("mine").write_text("planted")
        with contextlib.suppress(OSError):
            os.rename("mine", f"{self.place}/planted")
        with contextlib.suppress(OSError):
            os.link("mine", f"{self.place}/linked")
        return answer(view)


@attack("starts-early", sees=SEES)
@dataclass(frozen=True)
class StartsEarly:
    """Was there a moment without limits?"""

    def run(self, view, rng):
        return answer(view, limits=AT_IMPORT, isolated=sys.flags.isolated, startup=hasattr(builtins, "ran_first"))


# Limits.


@attack("hoards-private", sees=SEES)
@dataclass(frozen=True)
class HoardsPrivate:
    """After it has tried to raise its limit."""

    mib: int = 4000

    def run(self, view, rng):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_DATA, (-1, -1))
        kept = []
        for i in range(self.mib // 8):
            kept.append(np.ones(MIB))
            view.stage(str(8 * (i + 1)))
        return answer(view)


@attack("hoards-shared", sees=SEES)
@dataclass(frozen=True)
class HoardsShared:
    """In a shared mapping, which counts as nobody's data; under a name that looks like a figure of the kernel's."""

    mib: int = 4000

    def run(self, view, rng):
        LIBC.prctl(15, b"ab kB", 0, 0, 0)  # PR_SET_NAME
        fill(view, mmap.mmap(-1, self.mib * MIB))
        time.sleep(5)
        return answer(view)


@attack("hoards-unseen", sees=SEES)
@dataclass(frozen=True)
class HoardsUnseen:
    """In shared mappings whose pages it takes out of its own tables: they stay in memory and show in no process."""

    mib: int = 4000

    def run(self, view, rng):
        kept = []
        for i in range(self.mib // 64):
            block = mmap.mmap(-1, 64 * MIB)
            block[:] = b"x" * len(block)
            block.madvise(mmap.MADV_DONTNEED)
            kept.append(block)
            view.stage(str(64 * (i + 1)))
        time.sleep(5)
        return answer(view)


@attack("hoards-nameless", sees=SEES)
@dataclass(frozen=True)
class HoardsNameless:
    """In files without a name, and in segments of System V: neither needs to be mapped."""

    mib: int = 4000

    def run(self, view, rng):
        found = []
        with contextlib.suppress(OSError):
            file = os.memfd_create("x")
            found.append("memfd")
            for i in range(self.mib // 8):
                os.write(file, b"x" * (8 * MIB))
                view.stage(str(8 * (i + 1)))
        if LIBC.shmget(0, ctypes.c_size_t(64 * MIB), 0o1666) >= 0:
            found.append("System V")
        if LIBC.msgget(0, 0o1666) >= 0:
            found.append("messages")
        return answer(view, found=found)


@attack("hoards-in-files", sees=SEES)
@dataclass(frozen=True)
class HoardsInFiles:
    """In every file system that it can write to."""

    mib: int = 4000

    def run(self, view, rng):
        written = {}
        for folder in ("/dev", "/", "/run", "/proc", "/sys", "/view", "/tmp", "/dev/shm"):
            with contextlib.suppress(OSError), open(f"{folder}/filler", "wb", buffering=0) as file:
                for i in range(self.mib // 8):
                    written[folder] = 8 * i
                    file.write(b"x" * (8 * MIB))
                    view.stage(str(sum(written.values())))
        time.sleep(5)
        return answer(view, written=written)


@attack("hoards-in-children", sees=SEES)
@dataclass(frozen=True)
class HoardsInChildren:
    """In processes that each stay below the limit."""

    children: int = 40
    mib: int = 100

    def run(self, view, rng):
        for i in range(self.children):
            read, write = os.pipe()
            if os.fork() == 0:
                block = np.ones(self.mib * MIB // 8)
                os.write(write, b"x")
                time.sleep(60)
                os._exit(int(block[0]))
            os.read(read, 1)
            view.stage(str((i + 1) * self.mib))
        time.sleep(5)
        return answer(view)


@attack("shares-with-children", sees=SEES)
@dataclass(frozen=True)
class SharesWithChildren:
    """Well behaved: forked processes that share what was there before count it once."""

    mib: int = 300

    def run(self, view, rng):
        block = np.ones(self.mib * MIB // 8)
        children = []
        for _ in range(4):
            if (child := os.fork()) == 0:
                time.sleep(1)
                os._exit(int(block[0]))
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        return answer(view)


@attack("forks-on", sees=SEES)
@dataclass(frozen=True)
class ForksOn:
    """As many processes as it can get, up to a number that a machine can bear."""

    most: int = 3000

    def run(self, view, rng):
        for i in range(self.most):
            try:
                if os.fork() == 0:
                    time.sleep(60)
                    os._exit(0)
            except OSError:
                return answer(view, started=i)
            view.stage(str(i))
        time.sleep(5)
        return answer(view, started=self.most)


@attack("makes-files", sees=SEES)
@dataclass(frozen=True)
class MakesFiles:
    """Empty ones: they take no room in a file system, and memory all the same."""

    most: int = 400_000

    def run(self, view, rng):
        for i in range(self.most):
            os.close(os.open(f"/dev/shm/{i}", os.O_CREAT))
            if i % 1000 == 0:
                view.stage(str(i))
        time.sleep(5)
        return answer(view, made=self.most)


@attack("will-not-end", sees=SEES)
@dataclass(frozen=True)
class WillNotEnd:
    """Ignores every signal that can be ignored, and leaves a session of its own behind."""

    def run(self, view, rng):
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
        while True:
            time.sleep(1)


# Messages.


@attack("sends-many-dimensions", sees=SEES)
@dataclass(frozen=True)
class SendsManyDimensions:
    """160,000 of them, whose product takes minutes."""

    def run(self, view, rng):
        shape = ",".join(["134217728"] * 160_000)
        send_raw(f'{{"kind": "guess", "facts": 2, "arrays": {{"ranking": ["int8", [{shape}]]}}}}'.encode(), b"{}")
        time.sleep(30)


@attack("sends-many-values", sees=SEES)
@dataclass(frozen=True)
class SendsManyValues:
    """Small on the way, large as objects."""

    def run(self, view, rng):
        facts = b'{"details": {"x": [' + b"[]," * 10_000_000 + b"[]]}}"
        send_raw({"kind": "guess", "facts": len(facts), "arrays": {}}, facts)
        time.sleep(30)


@attack("announces-much", sees=SEES)
@dataclass(frozen=True)
class AnnouncesMuch:
    """A GiB, of which nothing comes."""

    def run(self, view, rng):
        send_raw({"kind": "guess", "facts": 2, "arrays": {"ranking": ["float64", [1 << 27]]}}, b"{}")
        time.sleep(60)


@attack("floods-stages", sees=SEES)
@dataclass(frozen=True)
class FloodsStages:
    """Words without end, so that the parent never gets to look at the clock."""

    def run(self, view, rng):
        while True:
            view.stage("\x1b[2J\n" * 60)


@attack("asks-much", sees={"encodings", "corpus", "oracle"})
@dataclass(frozen=True)
class AsksMuch:
    """A question that takes the parent's memory: very many vectors, or a very long one."""

    rows: int = 1 << 20
    width: int = 256

    def run(self, view, rng):
        try:
            shape = view.oracle(np.ones((self.rows, self.width), dtype=np.float32)).shape
        except ValueError as error:
            return answer(view, refused=str(error))
        return answer(view, answered=list(shape))


@attack("asks-past-the-limit", sees={"encodings", "corpus", "oracle"})
@dataclass(frozen=True)
class AsksPastTheLimit:
    """The same, past what would tell an honest author."""

    def run(self, view, rng):
        send_raw({"kind": "oracle", "facts": 2, "arrays": {"vectors": ["float32", [1 << 12, 1 << 14]]}}, b"{}")
        time.sleep(30)


@attack("asks-and-never-reads", sees={"encodings", "corpus", "oracle"})
@dataclass(frozen=True)
class AsksAndNeverReads:
    """The answer does not fit into the socket, so whoever sends it waits."""

    def run(self, view, rng):
        vectors = np.ones((40_000, 32), dtype=np.float32)
        threading.Thread(target=lambda: time.sleep(60)).start()
        head = {"kind": "oracle", "facts": 2, "arrays": {"vectors": ["float32", list(vectors.shape)]}}
        send_raw(head, b"{}" + vectors.tobytes())
        time.sleep(60)


@attack("says-much", sees=SEES)
@dataclass(frozen=True)
class SaysMuch:
    """An error as long as a book, with what moves a terminal's cursor."""

    def run(self, view, rng):
        raise RuntimeError("\x1b[2J\n" * 1_000_000)


def _link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""
