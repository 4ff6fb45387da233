"""Sets the scene of a cell: who is private, what the attacker's corpus holds, what the defense releases."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import modalities
from bench.arrays import Floats, Ints
from bench.encoders import batching
from bench.errors import BenchError, DataError, UsageError
from bench.modalities import Progress
from bench.plugins.protocol import Protocol
from bench.scoring.truth import Truth
from bench.surfaces import Client
from bench.system.seeds import entropy, generator
from bench.toolkit import mixing
from bench.toolkit.corpus import Corpus
from bench.training.epochs import over_epochs
from bench.training.finetune import rows_of
from bench.types import Examples, Key, Release

if TYPE_CHECKING:
    from bench.experiment.cells import Cell, Chosen, Trial
    from bench.experiment.trained import TrainedModel


@dataclass(frozen=True)
class CellSetup:
    """Both sides of a cell: what the client holds and releases, and what the attacker may be told."""

    truth: Truth
    client: Client
    corpus: Corpus
    """the attacker's, with the vectors of the encoder that the attacker holds"""
    public: Corpus | None
    release_s: float
    oracle: Callable[[Floats], Floats]

    @property
    def release(self) -> Release:
        return self.client.release


@lru_cache(maxsize=8)
def load(dataset: Any, split: str) -> tuple[Examples, str]:
    """A data set with the fingerprint of its content; kept, because cells share it."""
    examples: Examples = dataset.load(split)
    sha = hashlib.sha256()
    for text in examples.texts:
        sha.update(text.encode("utf-8", "surrogatepass") + b"\0")
    sha.update(examples.labels.tobytes() + "|".join(examples.classes).encode())
    sha.update(modalities.of(examples).content(examples))
    if len(examples) < 2:
        raise DataError(f"the {split} split of this data set holds {len(examples)} examples: at least 2 are needed")
    return examples, sha.hexdigest()[:16]


def pool(cell: Cell) -> tuple[Examples, str, int]:
    """The examples that private ones and candidates are drawn from, and the first that may be private."""
    data, fingerprint = load(cell.dataset.plugin, "train")
    if cell.protocol.split == "train":
        return data, fingerprint, 0
    dev, dev_print = load(cell.dataset.plugin, "dev")
    if dev.classes != data.classes:
        raise DataError(f"train and dev of {cell.dataset.name} have different labels")
    return modalities.of(data).joined(data, dev), f"{fingerprint}-{dev_print}", len(data)


def protocol_for(cell: Cell) -> Protocol:
    """The cell's protocol, trimmed to a data set that is smaller than the paper's unless the user fixed the size."""
    data, _, start = pool(cell)
    if (rows := trained_on(cell)) is not None:
        available = len({data.texts[i] for i in rows})
    else:
        available = len(set(data.texts)) if start == 0 else len(set(data.texts[start:]) - set(data.texts[:start]))
    protocol = cell.protocol
    if not cell.fixed_size:
        protocol = protocol.fitted(available)
    if protocol.examples > available:
        raise UsageError(
            f"{cell.dataset.name} has {available} different examples, fewer than --examples {protocol.examples}"
        )
    return replace(protocol)  # checked once more, with the numbers that will be used


def trained_on(cell: Cell) -> Ints | None:
    """Rows that may be private because a client trains on them; None where any may."""
    if cell.training is None or cell.protocol.split != "train":
        return None
    train, fingerprint = load(cell.dataset.plugin, "train")
    return rows_of(train, cell.training, cell.seed, (fingerprint,))[0]


def build(
    cell: Cell, *, device: str, progress: Progress, salt: str | None = None, model: TrainedModel | None = None
) -> CellSetup:
    """`salt` goes into all of the key's randomness, so that who does not know it cannot draw the key again.

    `model` is the trained encoder, where the cell has one.
    """
    protocol = protocol_for(cell)
    data, fingerprint, start = pool(cell)
    secret = (salt,) if salt else ()
    rng = generator(cell.seed, "private", fingerprint, protocol.as_dict(), *secret)
    rows, candidates = choose(data.texts, protocol, rng, start, trained_on(cell))
    private = data.take(rows)
    held = cell if model is None else replace(cell, encoder=model.encoder(cell.attacker))
    cell = cell if model is None else replace(cell, encoder=model.encoder())
    vectors = encode(cell, data.take(np.concatenate([rows, candidates])), device, progress)
    texts = [data.texts[i] for i in candidates]
    known = int((candidates < start).sum())
    corpus = Corpus(texts, vectors[len(rows) :], device, known=known)
    public = public_corpus(cell, device, progress)
    if public is not None and public.vectors.shape[1] != vectors.shape[1]:
        raise DataError(f"public vectors have {public.vectors.shape[1]} dimensions, private ones {vectors.shape[1]}")
    seen, seen_public = corpus, public
    if held.encoder != cell.encoder:
        seen = Corpus(texts, encode(held, data.take(candidates), device, progress), device, known=known)
        seen_public = public_corpus(held, device, progress)
    words = ("release", cell.defense.name, cell.defense.options, fingerprint, protocol.as_dict(), *secret)
    mine = vectors[: len(rows)]
    progress("releasing")
    began = time.perf_counter()
    rng = generator(cell.seed, *words)
    if moving := model.released(protocol.epochs) if model else []:
        release, key = over_epochs(
            cell.defense.plugin,
            (encode_afresh(each, private.texts, device, cell.seed, at) for at, each in enumerate(moving)),
            private.targets(),
            public,
            rng,
        )
    else:
        release, key = cell.defense.plugin.release(mine, private.targets(), public, rng, epochs=protocol.epochs)
    seconds = time.perf_counter() - began
    _check_release(release, key, mine, cell.defense.name)
    return CellSetup(
        Truth(private, mine, key, corpus, data.labels[candidates]),
        Client(cell.seed, cell.encoder.plugin, cell.encoder.name, private, release, key),
        seen,
        seen_public,
        seconds,
        _oracle(cell, key, private.targets().shape[1], public, generator(cell.seed, "oracle", *words)),
    )


def choose(
    texts: Sequence[str], protocol: Protocol, rng: np.random.Generator, start: int = 0, allowed: Ints | None = None
) -> tuple[Ints, Ints]:
    """Rows of the private examples, all of different text and none before `start`, and of the corpus, in order.

    Private examples are drawn from the rows `allowed`, where these are given.
    """
    if allowed is not None:
        _, at = np.unique(np.array([texts[i] for i in allowed], dtype=object), return_index=True)
        first = allowed[at]
    else:
        _, first = np.unique(np.array(texts, dtype=object), return_index=True)
    rows = rng.choice(np.sort(first[first >= start]), protocol.examples, replace=False)
    covered = rows[: round(protocol.coverage * len(rows))]
    hidden = {texts[i] for i in rows[len(covered) :]}  # every copy of an uncovered text has to go
    others = np.array([i for i, text in enumerate(texts) if text not in hidden], dtype=np.int64)
    if protocol.candidates is not None and protocol.candidates < len(others):
        fillers = np.setdiff1d(others, covered)
        others = np.concatenate([covered, rng.choice(fillers, protocol.candidates - len(covered), replace=False)])
    if not len(others):
        raise UsageError("the attacker's corpus is empty: raise --coverage or --candidates")
    return rows, np.sort(others)


def encode(cell: Trial, examples: Examples, device: str, progress: Progress) -> Floats:
    return modalities.of(examples).encode(cell.encoder.plugin, cell.encoder.name, examples, device, progress)


def encode_afresh(encoder: Chosen, texts: Sequence[str], device: str, seed: int, epoch: int) -> Floats:
    """The vectors of one released epoch: not from the cache, where dropout makes them different each time."""
    import torch

    with torch.random.fork_rng(devices=[] if device == "cpu" else None):
        torch.manual_seed(entropy(seed, "released with dropout", epoch) % (1 << 63))
        vectors = encoder.plugin.encode(texts, device)
    return batching.check_vectors(vectors, len(texts), f"encoder {encoder.name}")


def prepare(trial: Trial, device: str, progress: Progress) -> None:
    """Encode all that measuring a trial's utility takes, so that it is in the cache."""
    for split in ("train", "dev"):
        encode(trial, load(trial.dataset.plugin, split)[0], device, progress)
    public_corpus(trial, device, progress)


def public_corpus(cell: Trial, device: str, progress: Progress) -> Corpus | None:
    if cell.public is None:
        return None
    examples = load(cell.public.plugin, "public")[0]
    return Corpus(examples.texts, encode(cell, examples, device, progress), device)


def _check_release(release: Release, key: Key, vectors: Floats, name: str) -> None:
    encodings, labels = np.asarray(release.encodings), np.asarray(release.labels)
    n = len(key.owner)
    if encodings.shape != (n, vectors.shape[1]) or len(labels) != n or len(key.members) != n:
        raise BenchError(
            f"defense {name!r} released encodings {encodings.shape} and labels {labels.shape} for a key of {n} items"
        )
    if not np.isfinite(encodings).all() or not np.isfinite(labels).all():
        raise BenchError(f"defense {name!r} released NaN or infinite values")


def _oracle(
    cell: Cell, victim: Key, classes: int, public: Corpus | None, rng: np.random.Generator
) -> Callable[[Floats], Floats]:
    """Chosen vectors, released by the victim: fresh mixes of them, under masks of the victim's own pool."""

    def answer(vectors: Floats) -> Floats:
        vectors = batching.check_vectors(vectors, len(vectors), "the attack's oracle question")
        labels = np.zeros((len(vectors), classes), dtype=np.float32)
        release, key = cell.defense.plugin.release(vectors, labels, public, rng, epochs=1)
        encodings = release.encodings
        if victim.pool is not None and not victim.one_time:
            mask = rng.integers(0, len(victim.pool), len(key.owner))
            encodings = mixing.apply(vectors, replace(key, pool=victim.pool, mask=mask), public)
        ordered: Floats = np.asarray(encodings)[np.argsort(key.owner, kind="stable")]
        return ordered

    return answer
