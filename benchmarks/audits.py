"""Many audits of mechanisms that keep their promise, none of which may be refuted, and of two with half their noise.

`python benchmarks/audits.py --audits 1000` prints one line for each mechanism: so many audits of defenses of encodings,
and as many of DP-SGD's updates. Vectors and gradients are drawn, not computed: what is tested are the games and the
noise.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Floats, defense
from bench.auditing import pair, updates
from bench.auditing.mechanism import Mechanism
from bench.defenses.dp_ie import Gaussian, Laplace
from bench.defenses.on_updates import DpSgd
from bench.defenses.release_once import ReleaseOnce
from bench.toolkit.corpus import Corpus

DIM = 32


@defense("half-noise")
@dataclass(frozen=True)
class HalfNoise(Gaussian):
    """The planted bug."""

    def draw(self, shape: tuple[int, int], scale: float, rng: np.random.Generator) -> Floats:
        return super().draw(shape, scale / 2, rng)


@defense("half-noise-of-updates")
@dataclass(frozen=True)
class HalfNoiseOfUpdates(DpSgd):
    """The same bug."""

    def altered(self, name: str, value: Floats, items: int, rng: np.random.Generator) -> Floats:
        return super().altered(name, value, 2 * items, rng)


@dataclass(frozen=True)
class OppositeGradients:
    """The worst case of DP-SGD: a batch of one example, whose clipped gradient is turned round."""

    defense: DpSgd
    name: str = "opposite"

    @property
    def rounds(self) -> int:
        return self.defense.rounds

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"head1.weight": (2, DIM)}

    def made(self, side: int, names: list[str], rng: np.random.Generator) -> list[updates.Update]:
        value = np.full((2, DIM), (-1) ** side * self.defense.clip / np.sqrt(2 * DIM), np.float32)
        return [dict.fromkeys(names, value)] * self.rounds

    def sent(self, name: str, value: Floats, rng: np.random.Generator) -> Floats:
        return self.defense.altered(name, value, 1, rng)


def of_updates(plugin: DpSgd, seed: int, trials: int) -> float:
    rng = np.random.default_rng([seed, 19])
    senders = [OppositeGradients(plugin)]
    return updates.play(senders, {}, trials=trials, delta=plugin.delta, rng=rng, stage=lambda text: None).audited


def audited(plugin: Any, seed: int, trials: int) -> float:
    rng = np.random.default_rng([seed, 19])
    sample = (rng.standard_normal((60, DIM)) + 1).astype(np.float32)
    mixed = getattr(plugin, "k", 1)
    labels = np.zeros((mixed, 2), dtype=np.float32)
    labels[:, 0] = 1
    # Only release-once hides labels, and takes its directions from public vectors: opposite ones along the first. In a
    # joint release a label turned round with its point is the same point, so there the label stays.
    once = isinstance(plugin, ReleaseOnce)
    hidden = once and plugin.labels == "private"
    public = (rng.standard_normal((200, DIM)) * np.linspace(3, 1, DIM)).astype(np.float32) if once else None
    corpus = None if public is None else Corpus([f"public {i}" for i in range(len(public))], public)
    pairs = pair.neighbours(
        sample[: mixed - 1],
        sample[mixed - 1 :] if public is None else public,
        labels,
        labels[0, :: -1 if hidden else 1],
    )
    return pair.play(
        Mechanism(plugin, corpus, 3),
        [each for each in pairs if each.name == ("principal" if once else "spread")],
        private_labels=hidden,
        trials=trials,
        delta=getattr(plugin, "delta", 0.0),
        rng=rng,
        stage=lambda text: None,
    ).audited


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--audits", type=int, default=40)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--only", choices=("encodings", "updates"), help="default: both")
    args = parser.parse_args()
    if args.only != "updates":
        encodings(args.audits, args.trials)
    if args.only != "encodings":
        dp_sgd(args.audits, args.trials)


def encodings(audits: int, trials: int) -> None:
    sound = [
        kind(epsilon=epsilon, k=k, calibration=calibration)
        for kind in (Laplace, Gaussian)
        for calibration in ("sound", "once")
        for epsilon in (1.0, 8.0)
        for k in (1, 4)
    ]
    sound += [ReleaseOnce(epsilon=epsilon) for epsilon in (1.0, 4.0, 8.0)]
    sound += [ReleaseOnce(epsilon=epsilon, labels="joint") for epsilon in (1.0, 4.0, 8.0)]
    each = -(-audits // len(sound))
    for plugin in sound:
        found = np.array([audited(plugin, seed, trials) for seed in range(each)])
        print(f"{plugin}: {each} audits, {int((found > plugin.epsilon).sum())} refuted, largest {found.max():.3f}")
    bug = HalfNoise(epsilon=1.0, k=1, delta=0.05, calibration="sound")
    found = np.array([audited(bug, seed, 1000) for seed in range(5)])
    print(f"half the noise: 5 audits, {int((found > bug.epsilon).sum())} refuted, least {found.min():.3f}")


def dp_sgd(audits: int, trials: int) -> None:
    """At a small δ, and at one that so few runs can see."""
    sound = [
        DpSgd(noise=noise, rounds=rounds, delta=delta)
        for noise in (1.0, 4.0, 16.0)
        for rounds in (1, 4)
        for delta in (1e-5, 0.05)
    ]
    each = -(-audits // len(sound))
    for plugin in sound:
        epsilon = plugin.notes()["nominal"]["epsilon"]
        found = np.array([of_updates(plugin, seed, trials) for seed in range(each)])
        refuted = int((found > epsilon).sum())
        print(f"{plugin}, ε = {epsilon:.3f}: {each} audits, {refuted} refuted, largest {found.max():.3f}")
    bug = HalfNoiseOfUpdates(noise=2.0, delta=0.05)
    epsilon = bug.notes()["nominal"]["epsilon"]
    found = np.array([of_updates(bug, seed, 1000) for seed in range(5)])
    refuted = int((found > epsilon).sum())
    print(f"half the noise, ε = {epsilon:.3f}: 5 audits, {refuted} refuted, least {found.min():.3f}")


if __name__ == "__main__":
    main()
