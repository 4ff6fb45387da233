"""Which texts a cell needs the vectors of, which of these are missing, and making them before the cells run.

Texts are encoded once, in the process that starts a run, with all of its cores; workers find the vectors in the cache.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bench.encoders.cache import VectorCache, text_key
from bench.errors import BenchError
from bench.experiment import setup
from bench.experiment.cells import Cell
from bench.experiment.execute import release_of
from bench.plugins.protocol import Protocol
from bench.scheduling.units import Task
from bench.system.seeds import generator


@dataclass
class Need:
    """What the cells of one data set and encoder need."""

    task: Task
    texts: dict[str, None] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)

    def missing(self) -> list[str]:
        found = VectorCache(self.task[0].encoder.plugin.fingerprint).get(list(self.texts))
        return [text for text in self.texts if text_key(text) not in found]


def needs(tasks: Iterable[Task]) -> list[Need]:
    """One for each data set and encoder; pictures, and encoders that do not say what they depend on, are not cached."""
    found: dict[tuple[str, str], Need] = {}
    releases: set[str] = set()
    for cell, about in tasks:
        cached = "text" in cell.dataset.info.on and hasattr(cell.encoder.plugin, "fingerprint")
        if not cached or release_of(about) in releases:
            continue
        releases.add(release_of(about))
        need = found.setdefault((cell.dataset.label, cell.encoder.label), Need((cell, about)))
        with contextlib.suppress(BenchError):  # said by the cell itself, when it runs
            _add(need, (cell, about))
    return list(found.values())


def prepare(tasks: Iterable[Task], device: str, stage: Callable[[str], None]) -> None:
    for need in needs(tasks):
        with contextlib.suppress(BenchError):
            if need.texts:
                setup.encode_texts(need.task[0], list(need.texts), device, stage)


def _add(need: Need, task: Task) -> None:
    cell, about = task
    if cell.public is not None and cell.public.label not in need.whole:
        need.texts |= dict.fromkeys(setup.load(cell.public.plugin, "public")[0].texts)
        need.whole.add(cell.public.label)
    protocol = Protocol(**about["protocol"])
    if protocol.split in need.whole:
        return
    data, fingerprint, start = setup.pool(cell)
    if protocol.candidates is None:
        need.texts |= dict.fromkeys(data.texts)
        need.whole.add(protocol.split)
    elif not cell.sealed:  # a sealed cell draws its texts when it runs
        need.texts |= dict.fromkeys(data.texts[i] for i in _drawn(cell, fingerprint, start, protocol))


# Neither encoder nor defense has a part in the draw, and sorting a large data set takes a while.
_draws: dict[tuple[str, str, int], list[int]] = {}


def _drawn(cell: Cell, fingerprint: str, start: int, protocol: Protocol) -> list[int]:
    """Rows of the texts that a cell will draw, as bench.experiment.setup will."""
    wanted = (fingerprint, json.dumps(protocol.as_dict(), sort_keys=True), cell.seed)
    if wanted not in _draws:
        rng = generator(cell.seed, "private", fingerprint, protocol.as_dict())
        rows, candidates = setup.choose(setup.pool(cell)[0].texts, protocol, rng, start)
        _draws[wanted] = [*rows.tolist(), *candidates.tolist()]
    return _draws[wanted]
