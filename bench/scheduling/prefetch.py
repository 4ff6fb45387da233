"""Encodes the texts of all tasks before the workers start.

Texts are encoded once, in the process that starts a run, with all of its cores; workers find the vectors in the cache.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bench.encoders.batching import encode_cached
from bench.encoders.cache import VectorCache, text_key
from bench.encoders.sentence_bert import SentenceBert
from bench.errors import BenchError
from bench.experiment import setup
from bench.experiment.cells import Cell, Trial
from bench.experiment.execute import is_full
from bench.modalities.text import encode_texts
from bench.plugins.protocol import Protocol
from bench.plugins.rounds import from_sizes
from bench.records.model import Record
from bench.scheduling.tasks import AttackTask, AuditTask, Task
from bench.system.seeds import generator

# Corpora up to so many candidates are embedded for the `sbert` metric once and for all, before the first run on them.
# Answers that are embedded as they come up would have every run of a new attack load the network for a few sentences,
# which costs more than all the rest of a small run.
SMALL = 1000

log = logging.getLogger(__name__)


@dataclass
class TextsToEncode:
    """The texts that the tasks of one data set and encoder need vectors of."""

    subject: Trial
    texts: dict[str, None] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    """splits and public corpora all of whose texts are in"""

    def missing(self) -> list[str]:
        """Texts whose vectors are not in the cache."""
        found = VectorCache.of(self.subject.encoder.plugin).get(list(self.texts))
        return [text for text in self.texts if text_key(text) not in found]


def texts_of(tasks: Iterable[Task[Record]]) -> list[TextsToEncode]:
    """One for each data set and encoder; pictures, and encoders without a fingerprint or in training, are left out."""
    found: dict[tuple[str, str], TextsToEncode] = {}
    groups: set[str] = set()
    for task in tasks:
        subject = task.subject
        cached = "text" in subject.dataset.info.on and hasattr(subject.encoder.plugin, "fingerprint")
        cached = cached and subject.training is None  # a trained encoder is there only when it has been trained
        cached = cached and not (isinstance(task, AttackTask) and "updates" in task.cell.sees)  # tokens, no vectors
        if not cached or task.group in groups:
            continue
        groups.add(task.group)
        wanted = found.setdefault((subject.dataset.label, subject.encoder.label), TextsToEncode(subject))
        with contextlib.suppress(BenchError):  # the task itself will fail with it
            _add(wanted, task)
    return list(found.values())


def prepare(tasks: Iterable[Task[Record]], device: str, stage: Callable[[str], None]) -> None:
    for wanted in texts_of(tasks):
        encoder = wanted.subject.encoder
        try:
            if wanted.texts:
                encode_texts(encoder.plugin, encoder.name, list(wanted.texts), device, stage)
        except Exception as error:
            _tolerate(error, encoder.name)


def prepare_scoring(tasks: Iterable[Task[Record]], device: str, stage: Callable[[str], None]) -> None:
    """Embeddings of all candidates of small corpora, which the scorer will look up; those of larger ones it makes."""
    texts: dict[str, None] = {}
    for task in tasks:
        if isinstance(task, AttackTask) and "text" in task.subject.dataset.info.on and not task.cell.sealed:
            with contextlib.suppress(BenchError):  # the task itself will fail with it
                texts |= dict.fromkeys(_candidates(task))
    if not texts:
        return
    scorer = SentenceBert()
    try:
        found = VectorCache.of(scorer).get(list(texts))
        if missing := [text for text in texts if text_key(text) not in found]:
            stage(f"embedding {len(missing):,} candidates, to compare answers with")
            encode_cached(scorer, missing, device=device)
    except Exception as error:
        _tolerate(error, "the scorer's encoder")


def _tolerate(error: Exception, encoder: str) -> None:
    """Weights that are cut, an encoder that is broken: each task will fail with it, and say so in its record."""
    if is_full(error):  # of the machine, and not of a task: the run ends, and goes on when there is room
        raise error
    log.debug("%s: not encoded beforehand: %s", encoder, error)


def _candidates(task: AttackTask) -> list[str]:
    cell, protocol = task.cell, from_sizes(task.about.protocol.model_dump())
    if "corpus" not in cell.sees:
        return []
    data, fingerprint, start = setup.pool(cell)
    if min(len(data.texts), protocol.candidates or len(data.texts)) > SMALL:
        return []
    if protocol.candidates is None:
        return list(data.texts)
    return [data.texts[row] for row in _drawn(cell, fingerprint, start, protocol)]


def _add(wanted: TextsToEncode, task: Task[Record]) -> None:
    public = task.subject.public
    if public is not None and public.label not in wanted.complete:
        wanted.texts |= dict.fromkeys(setup.load(public.plugin, "public")[0].texts)
        wanted.complete.add(public.label)
    if isinstance(task, AttackTask):
        _add_attacked(wanted, task)
        return
    if isinstance(task, AuditTask):
        return  # a few sentences, which it draws when it runs
    for split in ("train", "dev"):
        wanted.texts |= dict.fromkeys(setup.load(task.subject.dataset.plugin, split)[0].texts)
    wanted.complete |= {"train", "dev"}


def _add_attacked(wanted: TextsToEncode, task: AttackTask) -> None:
    cell, protocol = task.cell, from_sizes(task.about.protocol.model_dump())
    if protocol.split in wanted.complete:
        return
    data, fingerprint, start = setup.pool(cell)
    if protocol.candidates is None:
        wanted.texts |= dict.fromkeys(data.texts)
        wanted.complete.add(protocol.split)
    elif not cell.sealed:  # a sealed cell draws its texts when it runs
        wanted.texts |= dict.fromkeys(data.texts[i] for i in _drawn(cell, fingerprint, start, protocol))


# Neither encoder nor defense has a part in the draw, and sorting a large data set takes a while.
_draws: dict[tuple[str, str, int], list[int]] = {}


def _drawn(cell: Cell, fingerprint: str, start: int, protocol: Protocol) -> list[int]:
    """Rows of the texts that a cell will draw, as bench.experiment.setup will."""
    key = (fingerprint, json.dumps(protocol.as_dict(), sort_keys=True), cell.seed)
    if key not in _draws:
        rng = generator(cell.seed, "private", fingerprint, protocol.as_dict())
        rows, candidates = setup.choose(setup.pool(cell)[0].texts, protocol, rng, start)
        _draws[key] = [*rows.tolist(), *candidates.tolist()]
    return _draws[key]
