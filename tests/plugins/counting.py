"""An attack that leaves a line in a file for every time it is run, and works as long as it is told to."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

from bench import Guess, attack


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
