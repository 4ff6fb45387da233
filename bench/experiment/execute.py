"""One cell from end to end: scene, release, attack behind the wall, score, record.

Saves nothing: it may run on any machine.
"""

from __future__ import annotations

import errno
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench import modalities, surfaces
from bench.errors import BenchError, UsageError
from bench.experiment import identity, provenance, redrawing, rounds, setup, trained
from bench.experiment.cells import Cell
from bench.experiment.detailing import with_mixes
from bench.isolation import guess as guesses
from bench.isolation import process, sandbox, view
from bench.records.guesses import pack
from bench.records.model import AttackRecord, Encoder, MeasuredUtility, Record
from bench.scoring import kinds, per_example
from bench.scoring.kinds import Expected, Scores
from bench.scoring.truth import Truth
from bench.system.seeds import for_attack, for_score
from bench.types import Guess

Stage = Callable[[str], None]
Items = dict[str, Any]


class Result(NamedTuple):
    """What a cell comes to; a worker hands it back as it is, and the process that started the run saves it."""

    record: Record
    items: Items | None = None
    """every question with its answer, for --details"""
    guess: bytes | None = None
    """the guess as a file, to be kept beside the record (bench.records.guesses)"""


def execute(
    cell: Cell,
    about: AttackRecord,
    *,
    device: str,
    limits: process.Limits,
    stage: Stage,
    scenes: Scenes | None = None,
    salt: str | None = None,
    details: bool = False,
) -> Result:
    """The whole walk. `salt` draws a sealed cell's key again."""
    scenes = scenes or Scenes()
    salt = salt or (redrawing.new_salt(scenes.common) if cell.sealed else None)
    found: dict[str, Any] = {}
    try:
        with _failing("before the attack"):
            stage("preparing")
            model = trained.obtain(cell, about, device=device, progress=stage) if cell.training else None
            scene = scenes.get(cell, about, device, stage, salt, model)
            released = surfaces.build(cell.sees, rounds.client_of(cell, scene))
            found |= _of_scene(about, scene, released)
            if model is not None:
                found |= _of_training(cell, found["encoder"], model)
                cell = trained.facing(cell, model, cell.attacker)
        found["salt"] = salt  # a record is made, and the salt told, only when the attack has ended
        with _failing("around the attack", machine=True):  # nothing that an attack sends may end more than its cell
            outcome = attack(cell, scene, released, device, limits, stage)
            found |= _of_attack(cell, outcome, scene, limits)
        guess = _checked(outcome, scene.truth)
        with _failing("while scoring"):
            stage("scoring")
            start = time.perf_counter()
            scores = score(cell, guess, scene.truth, device)
            found["cost"] |= {"score_s": round(time.perf_counter() - start, 3)}
            found |= measured(cell, guess, scene.truth, scores)
    except _Failed as failure:
        return Result(about.replace(**found, status=failure.status, error=failure.reason))
    kept, found["guess"] = pack(guess)
    record = about.replace(**found)
    items = with_mixes(scores.items, guess, scene.truth) if details else scores.items
    return Result(record.replace(code={**record.code, **provenance.scoring_code(record)}), items, kept)


def attack(
    cell: Cell,
    scene: setup.CellSetup,
    released: Mapping[str, surfaces.Surface],
    device: str,
    limits: process.Limits,
    stage: Stage,
) -> process.Outcome:
    """Behind the wall: what crosses it is the view, one way, and the guess, the other."""
    plugin = cell.attack
    with process.workspace() as folder:
        view.write(
            folder,
            cell.sees,
            released,
            device=device,
            corpus=scene.corpus,
            public=scene.public,
            defense=cell.defense.reference(),
            encoder=encoder(cell) if cell.sealed else cell.encoder.reference(),
        )
        rng = for_attack(cell.seed, plugin.name, plugin.options)
        seal = process.Seal(needed(cell)) if cell.sealed else None
        oracle = scene.oracle if "oracle" in plugin.info.sees else None
        return process.run(folder, plugin.reference(), rng, limits=limits, oracle=oracle, stage=stage, seal=seal)


def score(cell: Cell, guess: Guess, truth: Truth, device: str) -> Scores:
    similarity = modalities.of(truth.private).similarity(tuple(truth.corpus.texts), device)
    rng = for_score(cell.seed, cell.dataset.name)
    return kinds.kind_of(guess).score(guess, truth, similarity, rng, named="corpus" in cell.sees)


def measured(cell: Cell, guess: Guess, truth: Truth, scores: Scores) -> dict[str, Any]:
    """The fields of a record that scoring fills."""
    found: dict[str, Any] = {"metrics": scores.metrics, "details": {**guess.details, **scores.facts}}
    found["outcomes"] = per_example.of(truth, scores)
    if cell.samples:
        found["samples"] = per_example.samples(cell, scores)
    return found


class _Failed(Exception):
    """The cell ends here, and its record says why."""

    def __init__(self, reason: str | None, status: str = "failed"):
        super().__init__(reason)
        self.reason, self.status = reason, status


@contextmanager
def _failing(where: str, *, machine: bool = False) -> Iterator[None]:
    """An error in this step fails the cell; a full disk, or with `machine` any error of the machine, ends the run."""
    try:
        yield
    except UsageError as error:
        raise _Failed(str(error)) from error
    except Exception as error:
        if is_full(error) or (machine and isinstance(error, OSError)):
            raise
        said = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        raise _Failed(f"{where}: {said}") from error


def is_full(error: BaseException | None) -> bool:
    """Whether there is no room left for what had to be written: no other cell would fare better."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if isinstance(error, sqlite3.OperationalError) and "disk is full" in str(error):
            return True
        error = error.__cause__
    return False


def _of_scene(about: AttackRecord, scene: setup.CellSetup, released: Mapping[str, surfaces.Surface]) -> dict[str, Any]:
    notes = {name: value for surface in released.values() for name, value in surface.notes.items()}
    return {
        "dataset": about.dataset.replace(candidates=len(scene.truth.corpus.texts)),
        "encoder": about.encoder.replace(dim=int(scene.truth.vectors.shape[1])),
        "notes": {**scene.release.notes, **notes},
        "cost": {"release_s": round(scene.release_s, 4)},
    }


def _of_training(cell: Cell, encoder: Encoder, model: trained.TrainedModel) -> dict[str, Any]:
    """What the model that the attack faces is good for: its utility, and the record that tells how it was trained."""
    assert cell.training is not None
    about = identity.describe_utility(cell.trial, cell.training.asked())
    return {
        "encoder": encoder.replace(checkpoint=model.encoder().plugin.fingerprint),
        "utility": MeasuredUtility(metrics=model.metrics, id=about.id),
    }


def _of_attack(cell: Cell, outcome: process.Outcome, scene: setup.CellSetup, limits: process.Limits) -> dict[str, Any]:
    cost = {
        "release_s": round(scene.release_s, 4),
        "attack_s": round(outcome.seconds, 3),
        "peak_mib": round(outcome.peak_mib, 1),
        "threads": limits.threads,  # the last bits of a sum may depend on it
    }
    found: dict[str, Any] = {"cost": cost}
    if outcome.traceback:
        found["details"] = {"traceback": list(outcome.traceback)}
    if cell.sealed:
        found["tried"] = {"attempts": outcome.attempts, "left_behind": outcome.left_behind}
    return found


def _checked(outcome: process.Outcome, truth: Truth) -> Guess:
    if outcome.guess is None:
        raise _Failed(outcome.reason, outcome.status)
    wrong = guesses.check(outcome.guess, Expected.of(truth))
    if wrong:
        raise _Failed(wrong)
    return outcome.guess


class Scenes:
    """Keeps the last scene, for the next cell may attack the very same release."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.common = redrawing.new_common()
        self._of = ""
        self._last: setup.CellSetup | None = None

    def get(
        self,
        cell: Cell,
        about: AttackRecord,
        device: str,
        stage: Stage,
        salt: str | None,
        model: trained.TrainedModel | None = None,
    ) -> setup.CellSetup:
        wanted = release_of(about) if salt is None else salt
        # An oracle's randomness goes on from question to question: an attack that asks it gets a fresh one.
        if self._last is None or wanted != self._of or "oracle" in cell.sees:
            self._last = None  # before the next one is made: two would take twice the memory
            # Sentences that a client has trained on cannot be drawn anew.
            subject = cell if cell.training else redrawing.redrawn(cell, salt)
            self._last = rounds.scene(subject, device=device, progress=stage, salt=salt, model=model)
            self._of = wanted
        return self._last


def release_of(about: AttackRecord) -> str:
    """Equal for cells of one run that attack the same release: all that it is drawn from (bench.experiment.setup) but
    the code."""
    parts = [[plugin.name, plugin.options] for plugin in (about.dataset, about.encoder, about.defense)]
    public = about.public and about.public.model_dump()
    training = [about.training, about.attacker] if about.training else []
    return json.dumps([parts, public, about.protocol.model_dump(), about.seed, *training], sort_keys=True, default=str)


def needed(cell: Cell) -> tuple[Path, ...]:
    """The code of the plugins that the attack may call, and the weights of an encoder that it may."""
    sees = cell.attack.info.sees
    lent = [cell.attack, *([cell.defense] if "defense" in sees else []), *([cell.encoder] if "encoder" in sees else [])]
    found = [path for plugin in lent for path in sandbox.files_of(plugin.entry.module)]
    folder: Path | None = getattr(cell.encoder.plugin, "folder", None) if "encoder" in sees else None
    if folder is not None:
        # A hub's cache holds links into a folder of blobs: those that are linked, and not what lies beside them.
        linked = {path.resolve() for path in folder.rglob("*") if path.is_symlink()}
        found += [folder, *sorted(path for path in linked if path.is_file())]
        if checkpoint := getattr(cell.encoder.plugin, "checkpoint", ""):
            found.append(Path(checkpoint))
    return tuple(found)


def encoder(cell: Cell) -> dict[str, Any]:
    """How to make the encoder where neither the environment nor the hub's cache can say where its weights are."""
    reference = cell.encoder.reference()
    folder = getattr(cell.encoder.plugin, "folder", None)
    if folder is not None and "model" in reference["options"]:
        reference["options"] = {**reference["options"], "model": str(folder)}
    return reference
