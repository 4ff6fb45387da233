"""Conformance of attacks: each runs behind the real wall, on tiny releases of every defense it claims to handle.

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
from typing import Any

import numpy as np

from bench.arrays import Ints
from bench.conformance import synthetic
from bench.conformance.checks import BAD, GOOD, NOTE, Line, Settings, Target, holds, said
from bench.experiment import cells, setup
from bench.experiment.cells import Cell, Chosen
from bench.isolation import guess as guesses
from bench.isolation import process, view
from bench.plugins.registry import Registry
from bench.system.seeds import for_attack, generator
from bench.types import Guess, Key, Release

# As many encodings of each example as the attack's own protocol has, because attacks count on them, of few examples:
# at most 400 items, or 32 examples encoded once, which take moments and are enough to mix and to cluster.
ITEMS, FEWEST, MOST, EPOCHS, CANDIDATES = 400, 8, 32, 50, 128
# Share of the answers that may change with the order of the release beyond what changes with the attack's randomness:
# sums in another order round differently, and a near tie may then go the other way.
SLACK = 0.05
# Mean squared error, for pixels in [0, 1], up to which two pictures are the same answer.
ALIKE = 1e-3
# How an attack's process words that it was not made for a defense; see bench.isolation.child and bench.isolation.view.
REFUSALS = ("UsageError: ", "NotGranted: this defense")
UNDECLARED = "does not declare it"


@dataclass(frozen=True)
class Trial:
    """A cell, with what the parent knows of its release."""

    cell: Cell
    items: int
    width: int
    """examples in each mix"""
    picture: tuple[int, ...] = ()
    """channels, height and width, where the examples are pictures"""

    def run(self, budget: float, *, seed: int = 0, turned: bool = False) -> process.Outcome:
        """One run of the attack; with `turned`, on the same release in another order."""
        # Built afresh each time: the oracle's stream goes on from question to question.
        setting = setup.build(self.cell, device="cpu", progress=_ignore)
        release, key, attack = setting.release, setting.truth.key, self.cell.attack
        if turned:
            release, key = _turned(release, key, self.other_order)
        if "gradients" in self.cell.sees:
            from bench.experiment.surfaces.gradients import surface

            release = surface(self.cell, release, key, setting.truth.private)
        with process.workspace() as folder:
            view.write(
                folder,
                self.cell.sees,
                release,
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
        dim = synthetic.SyntheticWords.dim
        wrong = guesses.check(guess, self.items, CANDIDATES, dim, self.picture, self.width)
        if wrong is None and guess.vectors is not None and not np.issubdtype(guess.vectors.dtype, np.floating):
            return f"the vectors hold {guess.vectors.dtype} values; expected float32"
        return wrong


def lines(chosen: Chosen, target: Target, settings: Settings) -> Iterator[Line]:
    registry = Registry((*target.registry.files, str(Path(synthetic.__file__))))
    names = settings.defenses or tuple(n for n, e in registry.of("defense").items() if e.built_in and not e.broken)
    trials: dict[str, Trial] = {}
    for name in names:
        try:
            trials[name] = _trial(registry, name, chosen, target.spec)
        except Exception as error:  # the defense's fault, not the attack's
            yield Line(NOTE, f"runs on {name}", f"cannot be tried: {said(error)}")
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        try:
            yield from _behaviour(chosen, trials, settings.budget, pool)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            process.end_all()


def _trial(registry: Registry, defense: str, chosen: Chosen, spec: str) -> Trial:
    own = chosen.info.protocol
    epochs = min(own.epochs, EPOCHS)
    examples = min(own.examples, MOST, max(FEWEST, ITEMS // epochs))
    stage = {"encoder": ["synthetic-words"]}
    if "text" not in chosen.info.on:
        stage = {"dataset": ["synthetic-pictures"], "encoder": ["synthetic-eye"]}
    sizes = {"examples": examples, "epochs": epochs, "candidates": CANDIDATES}
    (cell,) = cells.cells(registry, {"defense": [defense], "attack": [spec], **stage}, sizes)
    truth = setup.build(cell, device="cpu", progress=_ignore).truth
    items, width = truth.key.members.shape
    images = truth.private.images
    return Trial(cell, items, width, () if images is None else images.shape[1:])


def _turned(release: Release, key: Key, order: Ints) -> tuple[Release, Key]:
    """The items of a release in another order, and the key that goes with them."""
    encodings, labels = np.asarray(release.encodings), np.asarray(release.labels)
    per_item = ("owner", "members", "weights", "mask", "public", "noise")
    parts = {name: part[order] for name in per_item if (part := getattr(key, name)) is not None}
    return replace(release, encodings=encodings[order], labels=labels[order]), replace(key, **parts)


def _behaviour(chosen: Chosen, trials: dict[str, Trial], budget: float, pool: ThreadPoolExecutor) -> Iterator[Line]:
    outcomes: dict[str, process.Outcome] = {}
    for name, future in [(name, pool.submit(trial.run, budget)) for name, trial in trials.items()]:
        outcomes[name] = future.result()
        yield _on_one(name, outcomes[name], trials[name])
    yield from _together(chosen, outcomes, budget)
    good = {n: o.guess for n, o in outcomes.items() if o.guess is not None and not trials[n].wrong(o.guess)}
    if good:
        again = pool.map(lambda name: trials[name].run(budget), good)
        turned = pool.map(lambda name: trials[name].run(budget, turned=True), good)
        yield _deterministic(good, dict(zip(good, again, strict=True)))
        yield _order(good, dict(zip(good, turned, strict=True)), trials, budget)


def _on_one(name: str, outcome: process.Outcome, trial: Trial) -> Line:
    what = f"runs on {name}"
    if outcome.guess is not None:
        wrong = trial.wrong(outcome.guess)
        return holds(what, not wrong, f"{_shape(outcome.guess)} in {outcome.seconds:.1f} s", str(wrong))
    reason = outcome.reason or outcome.status
    if reason.startswith(REFUSALS):
        return Line(NOTE, what, f"does not handle it: {reason.partition(': ')[2]}")
    return Line(BAD, what, reason)


def _together(chosen: Chosen, outcomes: dict[str, process.Outcome], budget: float) -> Iterator[Line]:
    handled = [o for o in outcomes.values() if o.status == "ok"]
    if all((o.reason or "").startswith(REFUSALS) for o in outcomes.values()):
        yield Line(BAD, "handles a defense", "it handles none of those tried; name one that it does with --defense")
    # What never ran is not said to hold.
    late = [name for name, o in outcomes.items() if o.status == "timeout"]
    if late:
        reason = f"longer than {budget:g} s on {', '.join(late)}: make it faster, or raise --budget if it has to be"
        yield Line(BAD, "time", reason)
    elif handled:
        yield Line(GOOD, "time", f"at most {max(o.seconds for o in handled):.1f} s of {budget:g}")
    sees = chosen.info.sees
    undeclared = [o.reason or "" for o in outcomes.values() if UNDECLARED in (o.reason or "")]
    if undeclared:
        yield Line(BAD, "sees is enough", undeclared[0])
    elif handled:
        yield Line(GOOD, "sees is enough", ", ".join(sees))
    used = {word for o in handled for word in o.used}
    idle = [word for word in sees if word not in used]
    if handled and idle:
        yield Line(NOTE, "sees is used", f"granted and never touched: {', '.join(idle)}; a threat model that asks less")


def _deterministic(first: dict[str, Guess], again: dict[str, process.Outcome]) -> Line:
    for name, outcome in again.items():
        if outcome.guess is None:
            return Line(BAD, "deterministic", f"a second run on {name} fails: {outcome.reason or outcome.status}")
    differs = [name for name, guess in first.items() if not _same(guess, again[name].guess)]
    return holds(
        "deterministic",
        not differs,
        "the same guess, byte for byte, in a second run",
        f"another guess in a second run on {', '.join(differs)}: take all randomness from rng, none from sets",
    )


def _order(
    first: dict[str, Guess], turned: dict[str, process.Outcome], trials: dict[str, Trial], budget: float
) -> Line:
    """The order of a release says nothing, so answers must follow their items.

    An attack that samples may answer otherwise, but not more so than with other random numbers on the same release.
    """
    what, least = "order of the release", 1.0
    for name, guess in first.items():
        trial, other = trials[name], turned[name].guess
        if other is None or trial.wrong(other):
            reason = turned[name].reason or "the guess is malformed"
            return Line(BAD, what, f"fails on {name} when the items are put in another order: {reason}")
        kept = _agreement(guess, other, trial.other_order, trial.width)
        least = min(least, kept)
        if kept >= 1 - SLACK:
            continue
        chance = trial.run(budget, seed=1).guess
        level = 1.0 if chance is None else _agreement(guess, chance, np.arange(trial.items), trial.width)
        # Both shares are of few items: two standard errors of their difference are chance.
        if kept < level - SLACK - 2 * np.sqrt(2 * level * (1 - level) / trial.items):
            return Line(
                BAD,
                what,
                f"on {name} {kept:.0%} of the answers stay when the items are put in another order, {level:.0%} "
                "when only rng changes: answers must not depend on where an item stands",
            )
    exact = "answers follow their items" if least == 1 else f"at least {least:.0%} of the answers follow their items"
    return Line(GOOD, what, exact)


def _agreement(first: Guess, other: Guess, order: Ints, width: int) -> float:
    """How far the answers are the same, where `other` saw item `order[i]` in place i.

    Of rankings, the share of an item's first answers that both name, as many as are mixed: an attack may put them in
    an order that names every example once. Of vectors, the mean cosine of those that match best. Of pictures, the
    share that are alike.
    """
    if first.images is not None and other.images is not None:
        gap = np.asarray(first.images, np.float64)[order] - other.images
        return float(((gap**2).mean(axis=(2, 3, 4)) <= ALIKE).mean())
    if first.ranking is not None and other.ranking is not None:
        one, two = np.asarray(first.ranking)[order, :width], np.asarray(other.ranking)[:, :width]
        return float((one[:, :, None] == two[:, None, :]).any(axis=2).mean()) if one.shape == two.shape else 0.0
    if first.texts is not None and other.texts is not None:
        return float(np.mean([first.texts[i] == text for i, text in zip(order, other.texts, strict=True)]))
    if first.vectors is None or other.vectors is None:
        return 0.0
    from scipy.optimize import linear_sum_assignment

    from bench.toolkit.search import unit

    cosine = unit(first.vectors) @ unit(other.vectors).T
    cosine = np.where(np.isclose(cosine, 1, atol=1e-5), 1, cosine)
    return float(cosine[linear_sum_assignment(-cosine)].sum() / max(cosine.shape))


def _same(first: Guess, other: Guess | None) -> bool:
    if other is None:
        return False
    for name in ("ranking", "vectors", "confidence", "images"):
        one, two = getattr(first, name), getattr(other, name)
        if (one is None) != (two is None) or (
            one is not None and (one.dtype, one.tobytes()) != (two.dtype, two.tobytes())
        ):
            return False
    return first.texts == other.texts


def _shape(guess: Guess) -> str:
    for name in ("ranking", "vectors", "images"):
        array: Any = getattr(guess, name)
        if array is not None:
            return f"{name} {' × '.join(map(str, array.shape))} {array.dtype}"
    return f"{len(guess.texts or ())} texts"


def _ignore(text: str) -> None:
    """Stages are for people who wait; a check prints what it found."""
