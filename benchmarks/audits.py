"""Many audits of mechanisms that keep their promise, none of which may be refuted, and of one with half its noise.

`python benchmarks/audits.py --audits 1000` prints one line for each mechanism. Vectors are drawn, not encoded: what is
tested are the games and the noise.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Floats, defense
from bench.auditing import pair
from bench.auditing.mechanism import Mechanism
from bench.defenses.dp_ie import Gaussian, Laplace
from bench.defenses.release_once import ReleaseOnce
from bench.toolkit.corpus import Corpus

DIM = 32


@defense("half-noise")
@dataclass(frozen=True)
class HalfNoise(Gaussian):
    """The planted bug."""

    def draw(self, shape: tuple[int, int], scale: float, rng: np.random.Generator) -> Floats:
        return super().draw(shape, scale / 2, rng)


def audited(plugin: Any, seed: int, trials: int) -> float:
    rng = np.random.default_rng([seed, 19])
    sample = (rng.standard_normal((60, DIM)) + 1).astype(np.float32)
    mixed = getattr(plugin, "k", 1)
    labels = np.zeros((mixed, 2), dtype=np.float32)
    labels[:, 0] = 1
    # Only release-once hides labels, and takes its directions from public vectors: opposite ones along the first.
    once = isinstance(plugin, ReleaseOnce)
    public = (rng.standard_normal((200, DIM)) * np.linspace(3, 1, DIM)).astype(np.float32) if once else None
    corpus = None if public is None else Corpus([f"public {i}" for i in range(len(public))], public)
    pairs = pair.neighbours(
        sample[: mixed - 1], sample[mixed - 1 :] if public is None else public, labels, labels[0, :: -1 if once else 1]
    )
    return pair.play(
        Mechanism(plugin, corpus, 3),
        [each for each in pairs if each.name == ("principal" if once else "spread")],
        private_labels=once,
        trials=trials,
        delta=getattr(plugin, "delta", 0.0),
        rng=rng,
        stage=lambda text: None,
    ).audited


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--audits", type=int, default=40)
    parser.add_argument("--trials", type=int, default=200)
    args = parser.parse_args()
    sound = [
        kind(epsilon=epsilon, k=k, calibration=calibration)
        for kind in (Laplace, Gaussian)
        for calibration in ("sound", "once")
        for epsilon in (1.0, 8.0)
        for k in (1, 4)
    ]
    sound += [ReleaseOnce(epsilon=epsilon) for epsilon in (1.0, 4.0, 8.0)]
    each = -(-args.audits // len(sound))
    for plugin in sound:
        found = np.array([audited(plugin, seed, args.trials) for seed in range(each)])
        print(f"{plugin}: {each} audits, {int((found > plugin.epsilon).sum())} refuted, largest {found.max():.3f}")
    bug = HalfNoise(epsilon=1.0, k=1, delta=0.05, calibration="sound")
    found = np.array([audited(bug, seed, 1000) for seed in range(5)])
    print(f"half the noise: 5 audits, {int((found > bug.epsilon).sum())} refuted, least {found.min():.3f}")


if __name__ == "__main__":
    main()
