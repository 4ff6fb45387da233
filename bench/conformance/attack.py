"""Conformance of attacks: each runs in a process of its own, on tiny releases of every defense it claims to handle.

An attack claims all defenses of the project. To one that it is not made for it says so by raising `bench.UsageError`:
that is noted, not held against it, as long as it handles any. Vectors and pictures come from
bench.conformance.synthetic, so no model and no download is needed. An attack on text and pictures is checked on text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench import modalities, surfaces
from bench.arrays import Ints
from bench.conformance import synthetic
from bench.conformance.agreement import agreement, describe, identical
from bench.conformance.checks import (
    FAILED,
    CheckResult,
    CheckSettings,
    CheckTarget,
    describe_error,
    failed,
    noted,
    passed,
    verdict,
)
from bench.experiment import cells, rounds, setup
from bench.experiment.cells import Cell, Chosen
from bench.isolation import guess as guesses
from bench.isolation import process, view
from bench.plugins.registry import Registry
from bench.scoring.kinds import Expected
from bench.system.seeds import for_attack, generator
from bench.types import Guess, Key, Release

# As many encodings of each example as the attack's own protocol has, because attacks count on them, of few examples:
# at most 400 items, or 32 examples encoded once, which take moments and are enough to mix and to cluster.
ITEMS, FEWEST, MOST, EPOCHS, CANDIDATES = 400, 8, 32, 50, 128
# Share of the answers that may change with the order of the release beyond what changes with the attack's randomness:
# sums in another order round differently, and a near tie may then go the other way.
SLACK = 0.05
# How an attack's process words that it was not made for a defense; see bench.isolation.child and bench.isolation.view.
REFUSALS = ("UsageError: ", "NotGranted: this defense")
UNDECLARED = "does not declare it"


@dataclass(frozen=True)
class AttackTrial:
    """A cell, with what the parent knows of its release."""

    cell: Cell
    expected: Expected
    """what a guess has to fit"""

    @property
    def items(self) -> int:
        return self.expected.items

    @property
    def width(self) -> int:
        """examples in each mix"""
        return self.expected.width

    def run(self, budget: float, *, seed: int = 0, reordered: bool = False) -> process.Outcome:
        """One run of the attack; with `reordered`, on the same release in another order."""
        # Built afresh each time: the oracle's stream goes on from question to question.
        setting = setup.build(self.cell, device="cpu", progress=_ignore)
        client, attack = rounds.client_of(self.cell, setting), self.cell.attack
        if reordered:
            release, key = _reordered(client.release, client.key, self.other_order)
            client = replace(client, release=release, key=key)
        with process.workspace() as folder:
            view.write(
                folder,
                self.cell.sees,
                surfaces.build(self.cell.sees, client),
                corpus=setting.truth.corpus,
                public=setting.public,
                defense=self.cell.defense.reference(),
                encoder=self.cell.encoder.reference(),
            )
            limits = process.Limits(timeout_s=budget, threads=1)
            rng = for_attack(seed, attack.name, attack.options)
            return process.run(folder, attack.reference(), rng, limits=limits, oracle=setting.oracle, stage=_ignore)

    @property
    def other_order(self) -> Ints:
        return generator(0, "another order of the release").permutation(self.items)

    def wrong(self, guess: Guess) -> str | None:
        wrong = guesses.check(guess, self.expected)
        if wrong is None and guess.vectors is not None and not np.issubdtype(guess.vectors.dtype, np.floating):
            return f"the vectors hold {guess.vectors.dtype} values; expected float32"
        return wrong


def run_checks(chosen: Chosen, target: CheckTarget, settings: CheckSettings) -> Iterator[CheckResult]:
    if "updates" in chosen.info.sees:
        yield noted(
            "runs on updates",
            "not tried: they are those of a transformer, and none is made up here; try bench run --dataset demo",
        )
        return
    registry = Registry((*target.registry.files, str(Path(synthetic.__file__))))
    ours = (entry for entry in registry.of("defense").values() if entry.built_in and not entry.broken)
    # A defense of updates leaves encodings to the `inner` one, which is tried by itself.
    names = settings.defenses or tuple(entry.name for entry in ours if not hasattr(entry.load(), "inner"))
    trials: dict[str, AttackTrial] = {}
    for name in names:
        try:
            trials[name] = _trial(registry, name, chosen, target.spec)
        except Exception as error:  # the defense's fault, not the attack's
            yield noted(f"runs on {name}", f"cannot be tried: {describe_error(error)}")
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        try:
            yield from _on_all(chosen, trials, settings.budget, pool)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            process.end_all()


def _trial(registry: Registry, defense: str, chosen: Chosen, spec: str) -> AttackTrial:
    own = chosen.info.protocol
    epochs = min(own.epochs, EPOCHS)
    examples = min(own.examples, MOST, max(FEWEST, ITEMS // epochs))
    stage = dict(modalities.get(chosen.info.on[0]).synthetic)
    if chosen.info.on[0] == "images" and "gradients" not in chosen.info.sees:
        stage["encoder"] = ["pixels"]  # what is hidden are the pictures themselves, not a network's view of them
    sizes = {"examples": examples, "epochs": epochs, "candidates": CANDIDATES}
    (cell,) = cells.cells(registry, {"defense": [defense], "attack": [spec], **stage}, sizes)
    setting = setup.build(cell, device="cpu", progress=_ignore)
    surfaces.build(cell.sees, rounds.client_of(cell, setting))  # a defense may have nothing to release on one
    return AttackTrial(cell, Expected.of(setting.truth))


def _reordered(release: Release, key: Key, order: Ints) -> tuple[Release, Key]:
    """The items of a release in another order, and the key that goes with them."""
    encodings, labels = np.asarray(release.encodings), np.asarray(release.labels)
    per_item = ("owner", "members", "weights", "mask", "public", "noise")
    parts = {name: part[order] for name in per_item if (part := getattr(key, name)) is not None}
    return replace(release, encodings=encodings[order], labels=labels[order]), replace(key, **parts)


def _on_all(
    chosen: Chosen, trials: dict[str, AttackTrial], budget: float, pool: ThreadPoolExecutor
) -> Iterator[CheckResult]:
    outcomes: dict[str, process.Outcome] = {}
    for name, future in [(name, pool.submit(trial.run, budget)) for name, trial in trials.items()]:
        outcomes[name] = future.result()
        yield _on_defense(name, outcomes[name], trials[name])
    yield from _overall(chosen, outcomes, budget)
    good = {n: o.guess for n, o in outcomes.items() if o.guess is not None and not trials[n].wrong(o.guess)}
    if good:
        again = pool.map(lambda name: trials[name].run(budget), good)
        reordered = pool.map(lambda name: trials[name].run(budget, reordered=True), good)
        yield _deterministic(good, dict(zip(good, again, strict=True)))
        yield _order(good, dict(zip(good, reordered, strict=True)), trials, budget)


def _on_defense(name: str, outcome: process.Outcome, trial: AttackTrial) -> CheckResult:
    what = f"runs on {name}"
    if outcome.guess is not None:
        wrong = trial.wrong(outcome.guess)
        return verdict(what, not wrong, f"{describe(outcome.guess)} in {outcome.seconds:.1f} s", str(wrong))
    reason = outcome.reason or outcome.status
    if reason.startswith(REFUSALS):
        return noted(what, f"does not handle it: {reason.partition(': ')[2]}")
    return failed(what, reason)


def _overall(chosen: Chosen, outcomes: dict[str, process.Outcome], budget: float) -> Iterator[CheckResult]:
    handled = [o for o in outcomes.values() if o.status == "ok"]
    if all((o.reason or "").startswith(REFUSALS) for o in outcomes.values()):
        yield failed("handles a defense", "it handles none of those tried; name one that it does with --defense")
    # What never ran is not said to hold.
    late = [name for name, o in outcomes.items() if o.status == "timeout"]
    if late:
        reason = f"longer than {budget:g} s on {', '.join(late)}: make it faster, or raise --budget if it has to be"
        yield failed("time", reason)
    elif handled:
        yield passed("time", f"at most {max(o.seconds for o in handled):.1f} s of {budget:g}")
    sees = chosen.info.sees
    undeclared = [o.reason or "" for o in outcomes.values() if UNDECLARED in (o.reason or "")]
    if undeclared:
        yield failed("sees is enough", undeclared[0])
    elif handled:
        yield passed("sees is enough", ", ".join(sees))
    used = {word for o in handled for word in o.used}
    idle = [word for word in sees if word not in used]
    if handled and idle:
        yield noted("sees is used", f"granted and never touched: {', '.join(idle)}; a threat model that asks less")


def _deterministic(first: dict[str, Guess], again: dict[str, process.Outcome]) -> CheckResult:
    for name, outcome in again.items():
        if outcome.guess is None:
            return failed("deterministic", f"a second run on {name} fails: {outcome.reason or outcome.status}")
    differs = [name for name, guess in first.items() if not identical(guess, again[name].guess)]
    return verdict(
        "deterministic",
        not differs,
        "the same guess, byte for byte, in a second run",
        f"another guess in a second run on {', '.join(differs)}: take all randomness from rng, none from sets",
    )


def _order(
    first: dict[str, Guess], reordered: dict[str, process.Outcome], trials: dict[str, AttackTrial], budget: float
) -> CheckResult:
    """The order of a release says nothing, so answers must follow their items.

    An attack that samples may answer otherwise, but not more so than with other random numbers on the same release.
    """
    what, least = "order of the release", 1.0
    for name, guess in first.items():
        trial, other = trials[name], reordered[name].guess
        if other is None or trial.wrong(other):
            reason = reordered[name].reason or "the guess is malformed"
            return failed(what, f"fails on {name} when the items are put in another order: {reason}")
        kept = agreement(guess, other, trial.other_order, trial.width)
        least = min(least, kept)
        if kept >= 1 - SLACK:
            continue
        chance = trial.run(budget, seed=1).guess
        level = 1.0 if chance is None else agreement(guess, chance, np.arange(trial.items), trial.width)
        # Both shares are of few items: two standard errors of their difference are chance.
        if kept < level - SLACK - 2 * np.sqrt(2 * level * (1 - level) / trial.items):
            return CheckResult(
                FAILED,
                what,
                f"on {name} {kept:.0%} of the answers stay when the items are put in another order, {level:.0%} "
                "when only rng changes: answers must not depend on where an item stands",
            )
    exact = "answers follow their items" if least == 1 else f"at least {least:.0%} of the answers follow their items"
    return passed(what, exact)


def _ignore(text: str) -> None:
    """Stages are for people who wait; a check prints what it found."""
