"""The two games: what must be found is found, and what holds is not refuted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.auditing import bounds, canaries, pair
from bench.auditing.mechanism import Mechanism, Noise, claim, random_parts
from bench.auditing.outcome import Outcome
from bench.defenses.dp_ie import Gaussian, Laplace
from bench.defenses.none import NoDefense
from bench.defenses.texthide import TextHide
from tests.plugins.audited import HalfNoise

LABELS = np.eye(2, dtype=np.float32)[[0, 1, 0, 1]]


def vectors(count: int, dim: int = 24) -> Any:
    rng = np.random.default_rng(11)
    return (rng.standard_normal((count, dim)) + 1).astype(np.float32)


@pytest.fixture(autouse=True)
def _few_rehearsals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "REHEARSE", 80)


def audited(defense: Any, *, epochs: int = 1, trials: int = 1000, seed: int = 0, names: Any = ("spread",)) -> Outcome:
    sample, others = vectors(60), defense.k - 1
    pairs = pair.neighbours(sample[:others], sample[others:], LABELS[: others + 1], LABELS[0])
    return pair.play(
        Mechanism(defense, None, epochs),
        [each for each in pairs if each.name in names],
        private_labels=False,
        trials=trials,
        delta=getattr(defense, "delta", 0.0),
        rng=np.random.default_rng(seed),
        stage=lambda text: None,
    )


def test_published_noise_is_refuted() -> None:
    # Eight unmixed encodings of the published Laplace noise behave like a Gaussian mechanism of μ = √8.
    found = audited(Laplace(epsilon=1.0, k=1), epochs=8)
    assert found.audited > 2
    assert found.details["statistic"] == "likelihood ratio (laplace)"
    assert claim(found.notes)[0] == 1.0


def test_half_the_noise_is_found() -> None:
    """At a δ that so few runs can see; `bench audit` has 20,000 runs for those that are published."""
    promise: dict[str, Any] = {"epsilon": 1.0, "delta": 0.05, "k": 1}
    assert audited(HalfNoise(**promise, calibration="sound")).audited > 1.2
    # Stored once, the same encodings come in every epoch.
    assert audited(HalfNoise(**promise, calibration="once"), epochs=3).audited > 1.2
    assert audited(Gaussian(**promise, calibration="sound")).audited <= 1


@pytest.mark.parametrize("calibration", ["sound", "once"])
@pytest.mark.parametrize("kind", [Gaussian, Laplace])
def test_what_holds_is_not_refuted(calibration: Any, kind: Any) -> None:
    """A small part of the 1,000 audits that docs/audit.md tells of."""
    for seed, k in ((0, 1), (1, 2)):
        found = audited(kind(epsilon=1.0, k=k, calibration=calibration), epochs=2, trials=300, seed=seed)
        assert found.audited <= 1


def test_masks_hide_nothing_from_an_audit() -> None:
    found = audited(TextHide(m=16, k=2), epochs=4, trials=300, names=("spread", "sentences"))
    assert found.audited > 3.5  # of at most 4.4
    assert (found.details["pair"], found.details["statistic"]) == ("sentences", "magnitudes")
    assert bounds.verdict(None, found.audited, found.ceiling) == "vacuous"


def one_run(defense: Any) -> Outcome:
    some = vectors(400)
    labels = np.zeros((200, 2), dtype=np.float32)
    rng = np.random.default_rng(2)
    return canaries.play(
        Mechanism(defense, None, 2), (some[:200], some[200:]), labels, delta=1e-5, rng=rng, stage=lambda text: None
    )


def test_canaries_that_are_not_hidden_are_all_named() -> None:
    found = one_run(NoDefense())
    assert found.details["correct"] == found.details["guesses"]
    assert found.audited > 3


def test_canaries_find_a_false_claim_and_spare_a_true_one() -> None:
    assert one_run(Gaussian(epsilon=1.0, k=1, delta=1e-5)).audited <= 8
    assert one_run(Gaussian(epsilon=8.0, k=1, calibration="sound")).audited <= 8
    assert one_run(Gaussian(epsilon=60.0, k=1)).audited > 2


def test_the_density_of_noise_is_learnt_from_keys() -> None:
    rng = np.random.default_rng(0)
    for defense, family in ((Laplace(k=1), "laplace"), (Gaussian(k=1), "gaussian")):
        mechanism = Mechanism(defense, None, 5)
        run, *others = (mechanism.run(vectors(20), np.zeros((20, 2), np.float32), rng) for _ in range(10))
        parts = random_parts([run, *others])
        assert parts is not None
        noise = Noise.learnt(parts)
        assert noise is not None
        assert noise.family == family
        assert noise.scale == pytest.approx(run.notes["noise_scale"], rel=0.1)
        rows, means = run.encodings[:3], run.encodings[3:5]
        power = 1 if family == "laplace" else 2
        scale = noise.scale if family == "laplace" else 2 * noise.scale**2
        expected = -(np.abs(rows[:, None] - means[None]) ** power).sum(axis=2) / scale
        assert np.allclose(noise.log_density(rows, means), expected, rtol=1e-3)
    assert random_parts([Mechanism(NoDefense(), None, 1).run(vectors(4), LABELS, rng)]) is None


@pytest.mark.parametrize(("distance", "delta"), [(1.0, 1e-5), (3.0, 1e-5), (8.0, 0.0)])
def test_the_threshold_is_close_to_the_best(distance: float, delta: float) -> None:
    """Normal scores, of which the best threshold can be computed."""
    from scipy.stats import norm

    rng = np.random.default_rng(1)
    zero, one = rng.normal(0, 1, 300), rng.normal(distance, 1, 300)
    threshold, _ = pair.choose_threshold(zero, one, 10_000, delta)

    def promise(at: float) -> float:
        hits, alarms = (int(10_000 * norm.sf(at - mean)) for mean in (distance, 0.0))
        return bounds.from_rates(hits, 10_000, alarms, 10_000, delta)

    assert promise(threshold) > max(promise(at) for at in np.linspace(-2, 8, 200)) - 0.6
