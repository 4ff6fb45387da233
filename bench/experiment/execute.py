"""One cell from end to end: scene, attack behind the wall, score. Saves nothing: it may run on any machine."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.errors import BenchError, UsageError
from bench.experiment import setup
from bench.experiment.cells import Cell
from bench.isolation import guess as guesses
from bench.isolation import process, sandbox, view
from bench.records.model import AttackRecord, Record
from bench.scoring import per_example
from bench.scoring.truth import Truth
from bench.system.seeds import for_attack, for_score
from bench.types import Guess

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity
    from bench.scoring.text import Scores

Stage = Callable[[str], None]
Items = dict[str, Any]


class Result(NamedTuple):
    """What a cell comes to; a worker hands it back as it is, and the process that started the run saves it."""

    record: Record
    items: Items | None = None
    """every question with its answer, for --details"""
    guess: bytes | None = None
    """the guess as a file, to be kept beside the record (bench.records.guesses)"""


class Scenes:
    """Keeps the last scene, for the next cell may attack the very same release."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._of = ""
        self._last: setup.Scene | None = None

    def get(self, cell: Cell, about: AttackRecord, device: str, stage: Stage, salt: str | None) -> setup.Scene:
        wanted = release_of(about) if salt is None else salt
        # An oracle's randomness goes on from question to question: an attack that asks it gets a fresh one.
        if self._last is None or wanted != self._of or "oracle" in cell.sees:
            self._last = None  # before the next one is made: two would take twice the memory
            self._last = setup.build(cell, device=device, progress=stage, salt=salt)
            self._of = wanted
        return self._last


def release_of(about: AttackRecord) -> str:
    """Equal for cells of one run that attack the same release: all that it is drawn from (bench.experiment.setup) but
    the code."""
    parts = [[plugin.name, plugin.options] for plugin in (about.dataset, about.encoder, about.defense)]
    public = about.public and about.public.model_dump()
    return json.dumps([parts, public, about.protocol.model_dump(), about.seed], sort_keys=True, default=str)


def execute(
    cell: Cell,
    about: AttackRecord,
    *,
    device: str,
    limits: process.Limits,
    stage: Stage,
    scenes: Scenes | None = None,
    salt: str | None = None,
) -> Result:
    """`salt` draws a sealed cell's key again."""
    salt = salt or (secrets.token_hex(32) if cell.sealed else None)
    found: dict[str, Any] = {}

    def record(status: str = "ok", error: str | None = None) -> AttackRecord:
        return about.replace(**found, status=status, error=error)

    try:
        stage("preparing")
        setting = (scenes or Scenes()).get(cell, about, device, stage, salt)
        if "gradients" in cell.sees:
            from bench.experiment.surfaces.gradients import surface

            released = surface(cell, setting.release, setting.truth.key, setting.truth.private)
            setting = replace(setting, release=released)
    except UsageError as error:
        return Result(record("failed", str(error)))
    except Exception as error:
        return Result(record("failed", f"before the attack: {_said(error)}"))
    truth = setting.truth
    found["dataset"] = about.dataset.replace(candidates=len(truth.corpus.texts))
    found["encoder"] = about.encoder.replace(dim=int(truth.vectors.shape[1]))
    found["notes"] = setting.release.notes
    cost: dict[str, Any] = {"release_s": round(setting.release_s, 4)}
    found["cost"] = cost
    try:
        outcome = _attack(cell, setting, device, limits, stage)
    except OSError:
        raise  # the machine's fault, such as a full disk: the run must stop
    except Exception as error:  # nothing that an attack sends may end more than its cell
        found["salt"] = salt
        return Result(record("failed", f"around the attack: {_said(error)}"))
    cost |= {"attack_s": round(outcome.seconds, 3), "peak_mib": round(outcome.peak_mib, 1)}
    cost["threads"] = limits.threads  # the last bits of a sum may depend on it
    if cell.sealed:  # told only now that the attack has ended
        found |= {"salt": salt, "tried": {"attempts": outcome.attempts, "left_behind": outcome.left_behind}}
    if outcome.guess is None:
        return Result(record(outcome.status, outcome.reason))
    guess = outcome.guess
    picture = () if truth.private.images is None else truth.private.images.shape[1:]
    items, width = truth.key.members.shape
    wrong = guesses.check(guess, items, len(truth.corpus.texts), truth.vectors.shape[1], picture, width)
    if wrong:
        return Result(record("failed", wrong))
    stage("scoring")
    start = time.perf_counter()
    try:
        scores = _score(cell, guess, truth, device)
    except Exception as error:
        return Result(record("failed", f"while scoring: {_said(error)}"))
    cost["score_s"] = round(time.perf_counter() - start, 3)
    found |= {"metrics": scores.metrics, "details": {**guess.details, **scores.facts}}
    found["outcomes"] = per_example.of(guess, truth, scores)
    if cell.samples:
        found["samples"] = per_example.samples(cell, scores)
    return Result(record(), scores.items)


def _attack(cell: Cell, setting: setup.Scene, device: str, limits: process.Limits, stage: Stage) -> process.Outcome:
    attack = cell.attack
    with process.workspace() as folder:
        view.write(
            folder,
            cell.sees,
            setting.release,
            device=device,
            corpus=setting.truth.corpus,
            public=setting.public,
            defense=cell.defense.reference(),
            encoder=encoder(cell) if cell.sealed else cell.encoder.reference(),
        )
        rng = for_attack(cell.seed, attack.name, attack.options)
        seal = process.Seal(needed(cell)) if cell.sealed else None
        oracle = setting.oracle if "oracle" in attack.info.sees else None
        return process.run(folder, attack.reference(), rng, limits=limits, oracle=oracle, stage=stage, seal=seal)


def _score(cell: Cell, guess: Guess, truth: Truth, device: str) -> Scores:
    rng = for_score(cell.seed, cell.dataset.name)
    if truth.private.images is not None:
        from bench.scoring import images

        return images.score(guess, truth, rng)
    from bench.scoring.text import score  # scikit-learn: a second that runs from stored records need not spend

    return score(
        guess,
        truth,
        _similarity(tuple(truth.corpus.texts), device),
        rng,
        named="corpus" in cell.sees,
    )


@lru_cache(maxsize=2)
def _similarity(corpus: tuple[str, ...], device: str) -> Similarity:
    from bench.encoders.batching import encode_cached
    from bench.encoders.sentence_bert import SentenceBert
    from bench.scoring.similarity import Similarity

    sbert = SentenceBert()
    return Similarity(corpus, lambda texts: encode_cached(sbert, texts, device=device))


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"


def needed(cell: Cell) -> tuple[Path, ...]:
    """The code of the plugins that the attack may call, and the weights of an encoder that it may."""
    sees = cell.attack.info.sees
    lent = [cell.attack, *([cell.defense] if "defense" in sees else []), *([cell.encoder] if "encoder" in sees else [])]
    found = [path for plugin in lent for path in sandbox.files_of(plugin.entry.module)]
    folder: Path | None = getattr(cell.encoder.plugin, "folder", None) if "encoder" in sees else None
    if folder is not None:
        # A hub's cache holds links into a folder of blobs.
        found += [folder, *sorted({path.resolve().parent for path in folder.rglob("*")} - {folder})]
    return tuple(found)


def encoder(cell: Cell) -> dict[str, Any]:
    """How to make the encoder where neither the environment nor the hub's cache can say where its weights are."""
    reference = cell.encoder.reference()
    folder = getattr(cell.encoder.plugin, "folder", None)
    if folder is not None and "model" in reference["options"]:
        reference["options"] = {**reference["options"], "model": str(folder)}
    return reference
