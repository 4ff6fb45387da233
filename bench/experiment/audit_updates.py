"""An audit of what a client sends in training: neighbouring batches, the game, the verdict (bench.auditing.updates).

The encoder's weights are those that it comes with, and the head is as before training; every round is at these weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bench.arrays import Floats
from bench.auditing import bounds, updates
from bench.auditing.mechanism import claim
from bench.errors import UsageError
from bench.experiment import setup
from bench.experiment.audit import checked_claim, distinct
from bench.experiment.rounds import client_round, targets_of
from bench.plugins.rounds import UpdateProtocol
from bench.records.model import AuditSizes
from bench.system.seeds import generator
from bench.training.neighbours import OneBatch, steepen
from bench.training.updates import ClientRound

if TYPE_CHECKING:
    from bench.experiment.cells import Cell, Trial

# Sentences among which two are looked for that differ much.
SAMPLE = 50

Stage = Callable[[str], None]


@dataclass(frozen=True)
class Client:
    """The client of the game: either batch, in so many rounds of a training."""

    name: str
    batches: tuple[OneBatch, OneBatch]
    rounds: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return self.batches[0].shapes()

    def made(self, side: int, names: list[str], rng: np.random.Generator) -> list[updates.Update]:
        self.batches[side].begin(rng)
        return [self.batches[side].made(int(rng.integers(1 << 62)), names) for _ in range(self.rounds)]

    def sent(self, name: str, value: Floats, rng: np.random.Generator) -> Floats:
        return self.batches[0].sent(name, value, rng)


def measure(trial: Trial, sizes: AuditSizes, *, device: str, stage: Stage) -> dict[str, Any]:
    """The fields of a record that an audit fills."""
    if trial.dataset.info.on != ("text",):
        raise UsageError(f"updates are those of a model of text, and {trial.dataset.name} has none: leave out --game")
    assert sizes.trials is not None
    data, fingerprint = setup.load(trial.dataset.plugin, "train")
    words = ("audit of updates", fingerprint, trial.defense.name, trial.defense.options, sizes.to_dict())
    rng = generator(trial.seed, *words)
    stage("preparing")
    some = data.take(distinct(data, SAMPLE + sizes.examples, rng))
    batch = some.take(np.arange(sizes.examples))
    public = None if trial.public is None else setup.load(trial.public.plugin, "public")[0].texts
    plugin = trial.defense.plugin
    on_updates = hasattr(plugin, "altered")
    bound = plugin.clip if on_updates else 0.0

    def client(share: str) -> ClientRound:
        # Of a cell it asks for no more than a trial has, where no model was trained before; of sizes, for the batch.
        protocol = UpdateProtocol(examples=2 * sizes.examples, batch=sizes.examples, update=f"share={share}")
        scaled = targets_of(data, batch)
        return client_round(cast("Cell", trial), batch, scaled, public, protocol, (*words, "client"), device, None)

    made = client("all")
    # A promise that rests on a bound of gradients is the same whatever is shared; where every run needs gradients of
    # its own, one for each item, those of the head are a hundred times as fast.
    share = "head" if bound and _drawn(OneBatch.of(made, batch.texts, made.mine.targets, trial.seed, words)) else "all"
    made = client(share) if share != "all" else made
    steepen(made.model, bound)
    # What a defense of the representation promises, it promises of encodings.
    notes = {name: value for name, value in made.notes.items() if name not in ("nominal", "accounted")}
    notes |= plugin.notes(rounds=sizes.epochs) if on_updates else {}
    claimed, _, delta = checked_claim(trial.defense.name, notes, sizes.delta)
    scores = targets_of(data, some)
    outcome = updates.play(
        [
            Client(name, (_one(made, *first, trial.seed), _one(made, *second, trial.seed)), sizes.epochs)
            for name, first, second in neighbours(some.texts, scores, sizes.examples, targets_of(data, data))
        ],
        notes,
        trials=sizes.trials,
        delta=delta,
        rng=rng,
        stage=stage,
    )
    return {
        "notes": outcome.notes,
        "claimed_epsilon": claimed,
        "actual_epsilon": claim(outcome.notes)[1],
        "audited": outcome.audited,
        "verdict": bounds.verdict(claimed, outcome.audited, outcome.ceiling),
        "ceiling": outcome.ceiling,
        "delta": delta,
        "details": {**outcome.details, "shared": share},
    }


Batch = tuple[list[str], Floats]
"""sentences and what is to be learnt of them"""


def neighbours(texts: list[str], targets: Floats, count: int, every: Floats) -> list[tuple[str, Batch, Batch]]:
    """Two batches that differ in their first example: in its label alone, which turns its gradient round; or in its
    sentence too, the longest and the shortest of those that are in neither."""
    other = np.concatenate([_farthest(targets[0], every)[None], targets[1:count]])
    left = sorted(texts[count:], key=len)
    plain: Batch = (texts[:count], targets[:count])
    return [
        ("label", plain, (texts[:count], other)),
        ("sentence", ([left[0], *texts[1:count]], targets[:count]), ([left[-1], *texts[1:count]], other)),
    ]


def _farthest(label: Floats, every: Floats) -> Floats:
    """Another class, or the end of the scale that is farther away."""
    if len(label) > 1:
        return np.roll(label, 1)
    ends = every.min(axis=0), every.max(axis=0)
    found: Floats = max(ends, key=lambda end: float(np.abs(end - label).sum()))
    return found


def _drawn(made: OneBatch) -> bool:
    """Whether the defense of the representation draws anything: two rounds of the same batch differ."""
    some = [name for name in made.shapes() if name.startswith("head")]
    first, second = (made.made(number, some) for number in (0, 1))
    return any((first[name] != second[name]).any() for name in some)


def _one(made: ClientRound, texts: list[str], targets: Floats, seed: int) -> OneBatch:
    return OneBatch.of(made, texts, targets, seed, ("audit of updates",))
