"""Attacks and a defense that leave a line in a file for every time they are run, and take as long as they are told."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from bench import Guess, Key, Release, attack, defense
from bench.toolkit import mixing


@attack("counts", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class Counts:
    """The nearest sentence, after some work."""

    file: str = ""
    """gets a line for every run"""
    seconds: float = 0.0
    """of work on one core"""
    top: int = 1
    """answers to each question"""

    def run(self, view, rng):
        if self.file:
            with open(self.file, "a") as file:
                file.write(f"{view.encodings.sum():.6f} {self.top}\n")
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return Guess(ranking=view.corpus.search(view.encodings, self.top))


@attack("kills-its-worker", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class KillsItsWorker:
    """As a machine without memory does, it ends the process that started it."""

    def run(self, view, rng):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)


@defense("counted")
@dataclass(frozen=True)
class Counted:
    """No defense, and a line in a file for every release; as slow, or as deadly to its process, as it is told to be."""

    file: str = ""
    """gets a line for every release"""
    seconds: float = 0.0
    """to sleep before the release"""
    kills: bool = False
    """ends the process that makes the release"""
    number: int = 0
    """makes several that differ in nothing else"""

    def release(self, vectors, labels, public, rng, epochs=1):
        if self.file:
            with open(self.file, "a") as file:
                file.write(f"{self.number} {vectors.sum():.6f} {rng.integers(1 << 30)}\n")
        if self.kills:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.seconds)
        members = mixing.draw_members(len(vectors), 1, epochs, rng, batch="all", distinct=False)
        key = Key(members[:, 0], members, np.ones(members.shape, dtype=np.float32))
        return Release(mixing.apply(vectors, key), mixing.mix(labels, members, key.weights)), key
