"""One sealed attack on a small view, without the rest of a run: what came of it, how long it took, how far it got."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import Corpus
from bench.isolation import process, view
from bench.surfaces.encodings import Encodings

ITEMS = 40


@dataclass(frozen=True)
class Attempt:
    outcome: process.Outcome
    seconds: float
    stages: list[str]
    log: str

    @property
    def reached(self) -> int:
        """The last number that it told of, such as MiB."""
        return max((int(text) for text in self.stages if text.isdigit()), default=0)

    @property
    def details(self) -> dict[str, Any]:
        assert self.outcome.guess is not None, self.outcome.reason
        return self.outcome.guess.details

    @property
    def told(self) -> str:
        """All that reaches the world from it."""
        guess = self.outcome.guess
        said = [self.outcome.reason, self.outcome.attempts, self.outcome.used, self.stages, guess and guess.details]
        return json.dumps(said, ensure_ascii=False, default=str) + self.log


def sealed(
    file: Path,
    name: str,
    cls: str,
    *,
    module: str = "",
    options: dict[str, Any] | None = None,
    sees: tuple[str, ...] = ("encodings", "corpus"),
    memory: int = 3000,
    timeout: float = 20.0,
    oracle: Callable[[Any], Any] | None = None,
) -> Attempt:
    reference = {"kind": "attack", "name": name, "module": module or str(file), "cls": cls, "options": options or {}}
    vectors = np.random.default_rng(0).standard_normal((ITEMS, 32)).astype(np.float32)
    stages: list[str] = []
    with process.workspace() as folder:
        corpus = Corpus([str(i) for i in range(ITEMS)], vectors)
        public = {"name": "none", "options": {}}
        view.write(folder, sees, {"encodings": Encodings(vectors)}, corpus=corpus, defense=public, encoder=public)
        start = time.monotonic()
        outcome = process.run(
            *(folder, reference, 0),
            limits=process.Limits(timeout, memory, 1),
            oracle=oracle,
            stage=stages.append,
            seal=process.Seal((file,)),
        )
        seconds = time.monotonic() - start
        log = (folder / "log.txt").read_text(errors="replace")
    return Attempt(outcome, seconds, stages, log)
