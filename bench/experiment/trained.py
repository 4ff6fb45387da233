"""The trained encoder of a cell: taken from the store of checkpoints, or trained now; and who holds which weights."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.encoders.finetuned import FinetunedEncoder
from bench.errors import UsageError
from bench.experiment import setup
from bench.experiment.cells import Cell, Chosen, Trial
from bench.plugins.registry import Entry
from bench.plugins.training import Attacker, Finetuned
from bench.records.model import Record
from bench.records.values import exact
from bench.training import checkpoints, search
from bench.training.checkpoints import Trained
from bench.training.finetune import Job
from bench.training.judging import metrics_for

Progress = Callable[[str], None]
# Components whose code decides what a training ends with.
_CODE = ("training", "defense", "encoder")


@dataclass(frozen=True)
class TrainedModel:
    """A finished training, as the cells that look at it see it."""

    trained: Trained
    options: Finetuned
    """with the settings that a search chose"""
    tried: list[dict[str, Any]]
    """settings that a search compared, with what they reached on held-out examples"""
    base: Chosen

    @property
    def metrics(self) -> dict[str, Any]:
        """On dev, of the weights that the attack faces."""
        return self.trained.metrics[str(self._step("current"))]

    @property
    def held_out(self) -> dict[str, Any]:
        """How the epoch that counts, and the settings, were chosen."""
        curve = self.trained.curve
        name = next(key for key in curve[0] if key not in ("epoch", "loss"))
        found: dict[str, Any] = {
            "epoch": self.trained.best,
            name: curve[self.trained.best - 1][name],
            "loss": [row["loss"] for row in curve],
            f"{name}_by_epoch": [row[name] for row in curve],
        }
        if self.tried:
            found |= {"rate": self.options.rate, "dropout": self.options.dropout, "tried": self.tried}
        return found

    def encoder(self, attacker: Attacker = "current") -> Chosen:
        """The encoder whose vectors the client releases, or that the attacker holds."""
        return self.at(self._step(attacker))

    def at(self, step: int, dropout: float = 0.0) -> Chosen:
        """The encoder after so many steps."""
        file = self.trained.file(step)
        plugin = FinetunedEncoder(
            str(self.base.plugin.folder),
            str(file) if file else "",
            self.options.rep,
            self.base.plugin.max_length,
            dropout,
            self.options.layers,
        )
        entry = Entry("encoder", self.base.name, FinetunedEncoder.__module__, FinetunedEncoder.__name__, "a training")
        return Chosen(entry, plugin)

    def released(self, epochs: int) -> list[Chosen]:
        """The encoder behind each released epoch, where that is not one and the same; else nothing."""
        options = self.options
        dropout = options.dropout if options.release_dropout else 0.0
        if options.at != "each":
            return [self.at(self._step("current"), dropout)] * epochs if dropout else []
        # Released epochs are spread evenly over the training.
        steps = [-(-(epoch + 1) * self.trained.epochs // epochs) * self.trained.steps for epoch in range(epochs)]
        return [self.at(step, dropout) for step in steps]

    def _step(self, attacker: Attacker) -> int:
        return self.trained.step(self.options, attacker)


def obtain(trial: Trial, about: Record, *, device: str, progress: Progress) -> TrainedModel:
    """The model of a trial; `about` describes it, or a cell of it."""
    options = trial.training
    assert options is not None
    if not hasattr(trial.encoder.plugin, "folder"):
        raise UsageError(
            f"encoder {trial.encoder.name!r} has no folder of weights, so it cannot be trained: choose a transformer, "
            "such as minilm, or --training frozen"
        )
    source = trial.trial if isinstance(trial, Cell) else trial

    def train(wanted: Finetuned, seed: int) -> Trained:
        key = _key(source, about, wanted, seed)
        return checkpoints.obtain(key, wanted, lambda: _job(source, wanted, seed), device=device, progress=progress)

    chosen, tried = search.choose(options, train, progress)
    return TrainedModel(train(chosen, source.seed), chosen, tried, source.encoder)


def facing(cell: Cell, model: TrainedModel, attacker: Attacker = "current") -> Cell:
    """The cell with the trained encoder in place of the one that it was trained from."""
    return dataclasses.replace(cell, encoder=model.encoder(attacker))


def _job(trial: Trial, options: Finetuned, seed: int) -> Job:
    train, fingerprint = setup.load(trial.dataset.plugin, "train")
    dev, _ = setup.load(trial.dataset.plugin, "dev")
    return Job(
        options=options.run(),
        encoder=trial.encoder.plugin,
        train=train,
        dev=dev,
        metrics=metrics_for(trial.dataset.info.metrics, train, dev),
        defense=trial.defense.plugin,
        defense_name=trial.defense.name,
        public=None if trial.public is None else setup.load(trial.public.plugin, "public")[0].texts,
        seed=seed,
        words=(fingerprint, trial.defense.name, trial.defense.options),
    )


def _key(trial: Trial, about: Record, options: Finetuned, seed: int) -> str:
    """All that a training depends on, as the name of its folder."""
    asked = {
        "data": [setup.load(trial.dataset.plugin, split)[1] for split in ("train", "dev")],
        "metrics": trial.dataset.info.metrics,
        "encoder": about.encoder.fingerprint,
        "defense": [trial.defense.name, trial.defense.options],
        "public": trial.public and setup.load(trial.public.plugin, "public")[1],
        "training": options.run().asked(),
        "seed": seed,
        "code": [about.code.get(component) for component in _CODE],
    }
    text = json.dumps(exact(asked), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
