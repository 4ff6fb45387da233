"""The game of updates, on made-up updates: what must be found is found, and what holds is not refuted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bench.arrays import Floats
from bench.auditing import updates
from bench.auditing.outcome import Outcome
from bench.auditing.updates import Update
from bench.defenses.on_updates import DpSgd, Prune
from tests.plugins.audited import ForgottenTensor, HalfNoiseOfUpdates

SHAPES = {"head1.weight": (6, 8), "head1.bias": (6,), "head2.weight": (2, 6)}


@pytest.fixture(autouse=True)
def _few_rehearsals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "REHEARSE", 100)


@dataclass(frozen=True)
class MadeUp:
    """Two batches of one example, whose clipped gradients are opposite."""

    defense: Any
    rounds: int = 1
    mixed: bool = False
    """the sign of a gradient is drawn"""
    name: str = "made up"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return SHAPES

    def made(self, side: int, names: list[str], rng: np.random.Generator) -> list[Update]:
        drawn = np.random.default_rng(4)
        whole = {name: drawn.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
        norm = float(np.sqrt(sum((value**2).sum() for value in whole.values())))
        found = []
        for _ in range(self.rounds):
            sign = (-1) ** side * (rng.choice((-1, 1)) if self.mixed else 1)
            turned = sign * (self.defense.clip or 1.0)
            found.append({name: (turned / norm * whole[name]).astype(np.float32) for name in names})
        return found

    def sent(self, name: str, value: Floats, rng: np.random.Generator) -> Floats:
        found: Floats = self.defense.altered(name, value, 1, rng)
        return found


def audited(sender: MadeUp, *, trials: int = 2000, seed: int = 0) -> Outcome:
    notes = sender.defense.notes(rounds=sender.rounds)
    delta = notes["nominal"]["delta"] if notes else 1e-5
    rng = np.random.default_rng(seed)
    return updates.play([sender], notes, trials=trials, delta=delta, rng=rng, stage=lambda text: None)


def claimed(found: Outcome) -> float:
    epsilon: float = found.notes["nominal"]["epsilon"]
    return epsilon


@pytest.mark.parametrize("rounds", [1, 4])
def test_half_the_noise_is_found_and_all_of_it_is_not(rounds: int) -> None:
    """At a δ that so few runs can see."""
    promise: dict[str, Any] = {"noise": 2.0 * rounds**0.5, "delta": 0.05}
    bug = audited(MadeUp(HalfNoiseOfUpdates(**promise), rounds))
    assert bug.audited > 1.2 * claimed(bug)
    assert bug.details["statistic"] == "likelihood ratio (gaussian)"
    sound = audited(MadeUp(DpSgd(**promise), rounds))
    assert 0.5 * claimed(sound) < sound.audited <= claimed(sound)


def test_what_holds_is_not_refuted() -> None:
    """A small part of what benchmarks/audits.py plays."""
    for seed in range(6):
        found = audited(MadeUp(DpSgd(noise=4.0, delta=1e-2)), trials=300, seed=seed)
        assert found.audited <= claimed(found)


def test_one_tensor_without_noise_tells_all() -> None:
    found = audited(MadeUp(ForgottenTensor(noise=8.0)))
    assert found.audited == found.ceiling > claimed(found)
    assert found.details["tensors"] == ["head1.bias"]


def test_without_noise_there_is_no_finite_epsilon() -> None:
    found = audited(MadeUp(Prune(share=0.5)))
    assert found.audited == found.ceiling


def test_a_sign_that_is_drawn_hides_which_of_two_opposite_gradients_it_was() -> None:
    found = audited(MadeUp(DpSgd(noise=0.1), mixed=True), trials=300)
    assert found.audited == 0.0
