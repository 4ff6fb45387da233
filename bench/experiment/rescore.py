"""Scores a kept guess again: the scene is set as before, and no attack is run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench.errors import DataError
from bench.experiment import identity, provenance, replay, setup
from bench.experiment.cells import Cell
from bench.experiment.execute import Items, Scenes, Stage, measured, score
from bench.isolation import guess as checks
from bench.plugins.registry import Registry
from bench.records import guesses, store
from bench.records.model import AttackRecord
from bench.scoring.kinds import Expected

# What has to be as it was: a guess says nothing about another release.
UNCHANGED = ("dataset", "encoder", "defense", "setup")


@dataclass(frozen=True)
class Rescored:
    old: AttackRecord
    new: AttackRecord
    items: Items
    """every question with its answer, for --details"""

    @property
    def differences(self) -> list[replay.Difference]:
        return replay.compare(self.old, self.new)

    @property
    def recoded(self) -> bool:
        """The code of scoring is not the one that scored the record."""
        return self.old.code.get("scoring") != self.new.code.get("scoring")


class Rescorer:
    """Scores the guesses of many records; neighbours that attacked the same release share it."""

    def __init__(self, registry: Registry, device: str):
        self._registry, self._device, self._scenes = registry, device, Scenes()

    def rescore(self, path: Path, stage: Stage) -> Rescored:
        """The record in this file, scored by the code of today. DataError says why that cannot be."""
        record = store.parse(path)
        if not isinstance(record, AttackRecord) or record.status != "ok":
            raise DataError("it is not the record of an attack that ended well: nothing was scored")
        guess = replace(guesses.read(path, record.guess), details=record.details)
        cell, scene = self._scene(record, stage)
        if wrong := checks.check(guess, Expected.of(scene.truth)):
            raise DataError(f"its guess does not fit the release: {wrong}")
        stage("scoring")
        scores = score(cell, guess, scene.truth, self._device)
        # Whoever vouched for the old numbers has not seen the new ones.
        new = record.replace(**measured(cell, guess, scene.truth, scores), origin=None)
        return Rescored(record, new.replace(code={**record.code, **provenance.scoring_code(new)}), scores.items)

    def _scene(self, record: AttackRecord, stage: Stage) -> tuple[Cell, setup.CellSetup]:
        cell = identity.cell_of(self._registry, record)
        about = identity.describe(cell)
        if about.id != record.id:
            raise DataError("its data or weights have changed, so its release cannot be made again")
        changed = provenance.compare(record, {**record.code, **{name: about.code[name] for name in UNCHANGED}}).changed
        if changed:
            raise DataError(f"the code of {', '.join(changed)} has changed since: run the attack again")
        stage("preparing")
        cell = replay.keeping(cell, record)
        return cell, self._scenes.get(cell, about, self._device, stage, record.salt)
