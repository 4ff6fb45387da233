"""Attacks that misbehave, each in one way. None may harm more than its own cell."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

import numpy as np

from bench import Guess, attack

SEES = {"encodings", "corpus"}


@attack("peeks", sees={"encodings"})
@dataclass(frozen=True)
class Peeks:
    def run(self, view, rng):
        return Guess(ranking=view.corpus.search(view.encodings, 1))


@attack("raises", sees=SEES)
@dataclass(frozen=True)
class Raises:
    def run(self, view, rng):
        raise RuntimeError("the dog ate it")


@attack("sleeps", sees=SEES)
@dataclass(frozen=True)
class Sleeps:
    seconds: float = 600.0

    def run(self, view, rng):
        view.stage("sleeping")
        time.sleep(self.seconds)
        return Guess(ranking=view.corpus.search(view.encodings, 1))


@attack("hoards", sees=SEES)
@dataclass(frozen=True)
class Hoards:
    def run(self, view, rng):
        kept = [np.zeros(1 << 26) for _ in range(64)]  # 32 GiB, none of it touched
        return Guess(ranking=np.zeros((len(view.encodings), len(kept)), dtype=int))


@attack("short", sees=SEES)
@dataclass(frozen=True)
class Short:
    def run(self, view, rng):
        return Guess(ranking=np.zeros((3, 1), dtype=int))


@attack("floats", sees=SEES)
@dataclass(frozen=True)
class Floats:
    def run(self, view, rng):
        return Guess(ranking=np.zeros((len(view.encodings), 1)))


@attack("empty", sees=SEES)
@dataclass(frozen=True)
class Empty:
    def run(self, view, rng):
        return Guess()


@attack("nothing", sees=SEES)
@dataclass(frozen=True)
class Nothing:
    def run(self, view, rng):
        return None


@attack("garbage", sees=SEES)
@dataclass(frozen=True)
class Garbage:
    def run(self, view, rng):
        os.write(int(sys.argv[2]), b"not a message" * 1000)
        time.sleep(30)


@attack("pickles", sees=SEES)
@dataclass(frozen=True)
class Pickles:
    def run(self, view, rng):
        return Guess(ranking=np.array([[object()]], dtype=object))


@attack("crashes", sees=SEES)
@dataclass(frozen=True)
class Crashes:
    def run(self, view, rng):
        print("about to crash")
        os.abort()


@attack("forks", sees=SEES)
@dataclass(frozen=True)
class Forks:
    """Leaves a process behind that would go on for long after the cell has ended, and says which."""

    marker: str = ""

    def run(self, view, rng):
        if (left := os.fork()) == 0:
            time.sleep(600)
            os._exit(0)
        with open(self.marker, "w") as file:
            file.write(str(left))
        return Guess(ranking=view.corpus.search(view.encodings, 1))


@attack("talks", sees=SEES)
@dataclass(frozen=True)
class Talks:
    """Prints a lot; its answer must arrive all the same."""

    def run(self, view, rng):
        print("x" * 1_000_000)
        return Guess(ranking=view.corpus.search(view.encodings, 1))


@attack("nan-vectors", sees=SEES)
@dataclass(frozen=True)
class NanVectors:
    def run(self, view, rng):
        return Guess(vectors=np.full((2, view.encodings.shape[1]), np.nan))


@attack("asks", sees={"encodings", "corpus", "oracle", "labels", "defense", "encoder"})
@dataclass(frozen=True)
class Asks:
    """Well behaved: uses everything it may, and says so in its details."""

    def run(self, view, rng):
        chosen = np.asarray(view.corpus.vectors[:20])
        answer = view.oracle(chosen)
        release, key = view.defense.release(chosen, np.zeros((20, 2), dtype=np.float32), rng, epochs=2)
        again = view.encoder.encode(view.corpus.texts[:3])
        details = {
            "oracle": list(answer.shape),
            "own": list(release.encodings.shape),
            "owner": len(key.owner),
            "same": bool(np.allclose(again, view.corpus.vectors[:3], atol=1e-4)),
            "labels": float(np.abs(view.labels.sum(axis=1) - 1).max()),
            "name": view.defense.name,
            "k": view.defense.options.get("k", 1),
        }
        return Guess(ranking=view.corpus.search(view.encodings, 5), details=details)


@attack("confident", sees=SEES)
@dataclass(frozen=True)
class Confident:
    """Returns vectors that are the encodings themselves."""

    def run(self, view, rng):
        return Guess(vectors=np.array(view.encodings))


@attack("dies-asking", sees={"encodings", "corpus", "oracle"})
@dataclass(frozen=True)
class DiesAsking:
    """Is gone before the oracle has answered."""

    def run(self, view, rng):
        import threading

        threading.Thread(target=lambda: (time.sleep(0.05), os.abort())).start()
        while True:
            view.oracle(np.repeat(np.asarray(view.corpus.vectors), 200, axis=0))
