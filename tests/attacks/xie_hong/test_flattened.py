"""xie-hong on vectors with one dominant axis, as fine-tuning through TextHide leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from bench import Corpus, Guess
from bench.attacks.xie_hong import XieHong, XieHongBlind, flattened
from bench.attacks.xie_hong.factors import Factors, demask
from bench.defenses.dp_ie import Laplace
from bench.defenses.texthide import TextHide

R, DIM, EPOCHS = 30, 96, 30


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def sentences(count: int, dominant: float, seed: int = 0) -> np.ndarray:
    """Two classes far apart along one axis, `dominant` times as wide as the next one, around a weak mean."""
    world, rng = np.random.default_rng(7), np.random.default_rng([11, seed])
    axes = np.linalg.qr(world.standard_normal((DIM, DIM)))[0]
    parts = rng.standard_normal((count, DIM)) * np.exp(-np.arange(DIM) / 20)
    parts[:, 0] = dominant * (rng.choice([-1.0, 1.0], count) + 0.3 * rng.standard_normal(count))
    return (parts @ axes.T + 0.4 * world.standard_normal(DIM)).astype(np.float32)


PRIVATE = sentences(R, 10, seed=1)
CORPUS = np.vstack([sentences(400, 10, seed=2), PRIVATE])
PUBLIC = sentences(300, 10, seed=3)


def attack(plugin: Any, defense: Any, options: dict[str, Any], corpus: np.ndarray = CORPUS) -> Guess:
    rng = np.random.default_rng(3)
    labels = np.eye(2, dtype=np.float32)[rng.integers(0, 2, R)]
    release, _ = defense.release(PRIVATE, labels, None, rng, epochs=EPOCHS)
    known = SimpleNamespace(
        options=options,
        release=lambda rows, labels, rng, epochs=1: defense.release(rows, labels, None, rng, epochs=epochs),
    )
    view: Any = SimpleNamespace(
        encodings=release.encodings,
        labels=release.labels,
        corpus=Corpus([str(i) for i in range(len(corpus))], corpus),
        public=Corpus([str(i) for i in range(len(PUBLIC))], PUBLIC),
        defense=known,
        device="cpu",
        stage=lambda text: None,
    )
    guess: Guess = plugin.run(view, np.random.default_rng(5))
    return guess


def success(guess: Guess) -> float:
    """As the suite scores: matched one to one, and nearest in the whole corpus."""

    def unit(rows: Any) -> np.ndarray:
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    found = unit(guess.vectors)
    a, b = linear_sum_assignment(-found @ unit(PRIVATE).T)
    named = CORPUS[(found[a] @ unit(CORPUS).T).argmax(axis=1)]
    return float((named == PRIVATE[b]).all(axis=1).sum() / R)


@pytest.mark.parametrize("m", [0, 1, 8, "inf"])
def test_vectors_are_found_though_one_axis_holds_most_variance(m: Any) -> None:
    guess = attack(XieHong(examples=R), TextHide(m=m, k=4), {"m": m, "k": 4})
    assert guess.details["flattened"]
    assert success(guess) == 1.0


def test_the_usual_way_fails_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flattened, "DOMINANT", 1.0)
    guess = attack(XieHong(examples=R), TextHide(m="inf", k=4), {"m": "inf", "k": 4})
    assert "flattened" not in guess.details
    assert success(guess) < 0.9


def test_public_vectors_do_in_place_of_the_corpus() -> None:
    guess = attack(XieHongBlind(examples=R), TextHide(m="inf", k=4), {"m": "inf", "k": 4})
    assert guess.details["flattened"]
    assert success(guess) >= 0.9


def test_only_a_dominant_axis_calls_for_it() -> None:
    assert flattened.flattened(CORPUS)
    assert not flattened.flattened(np.random.default_rng(0).standard_normal((400, DIM)))


@pytest.mark.parametrize("options", [{"clusters": "kmeans"}, {"demask": "abs"}, {"snap": True}])
def test_an_option_that_names_another_way_is_heeded(options: dict[str, Any]) -> None:
    guess = attack(XieHong(examples=R, rounds=1, **options), TextHide(m=8, k=4), {"m": 8, "k": 4})
    assert "flattened" not in guess.details


def test_noise_is_left_to_the_usual_way() -> None:
    guess = attack(XieHong(examples=R, rounds=1), Laplace(epsilon=100.0, k=4), {"epsilon": 100.0, "k": 4, "clip": 1.0})
    assert "flattened" not in guess.details
    assert np.isfinite(np.asarray(guess.vectors)).all()


def test_vectors_of_another_encoder_give_a_finite_answer() -> None:
    """A stale or initial encoder: the reference has other axes than the release."""
    other = CORPUS[:, np.random.default_rng(0).permutation(DIM)]
    guess = attack(XieHong(examples=R, rounds=2), TextHide(m="inf", k=4), {"m": "inf", "k": 4}, corpus=other)
    assert np.isfinite(np.asarray(guess.vectors)).all()


def test_leaving_one_out_is_what_conditioning_on_the_others_gives() -> None:
    rng = np.random.default_rng(0)
    model = Factors(*(torch.as_tensor(rng.random(shape, np.float32) + 0.1) for shape in ((12,), (12, 3), (12,))))
    site, variance = (torch.as_tensor(rng.random((2, 12), np.float32) + 0.2) for _ in range(2))
    mean, wide = model.others(site, variance)
    covariance = model.loadings @ model.loadings.T + torch.diag(model.own)
    for row in range(2):
        for i in range(12):
            rest = [j for j in range(12) if j != i]
            gain = covariance[i, rest] @ torch.linalg.inv(covariance[rest][:, rest] + torch.diag(variance[row, rest]))
            assert float(mean[row, i]) == pytest.approx(
                float(model.mean[i] + gain @ (site[row, rest] - model.mean[rest])), abs=1e-3
            )
            assert float(wide[row, i]) == pytest.approx(float(covariance[i, i] - gain @ covariance[rest, i]), abs=1e-3)


def test_learning_the_plane_mends_signs() -> None:
    rng = np.random.default_rng(2)
    release, key = TextHide(m="inf", k=4).release(PRIVATE, np.zeros((R, 1), np.float32), None, rng, epochs=EPOCHS)
    assert key.pool is not None
    scale = CORPUS.std(axis=0)
    values = release.encodings / scale
    true = values * key.pool[key.mask]
    signed, _, _ = demask(values, CORPUS / scale, 0.5, R)
    reference = torch.as_tensor(CORPUS / scale)
    start = Factors.of(reference.mean(0), 0.5 * torch.cov(reference.T), DIM // 3)
    before = start.signed(torch.as_tensor(np.abs(values)), 4).numpy()
    wrong = [float((np.sign(guess) != np.sign(true)).mean()) for guess in (before, signed)]
    assert wrong[1] < 0.03
    assert wrong[1] < wrong[0] / 2
