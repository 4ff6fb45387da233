"""unmix on vectors with one dominant axis, as fine-tuning through TextHide leaves them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bench import Corpus
from bench.attacks.unmix import Unmix, dense, signs
from bench.attacks.unmix.dictionary import Dictionary
from bench.defenses.texthide import TextHide

DIM, COUNT = 96, 500


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def sentences(dominant: float, seed: int = 0) -> np.ndarray:
    """Two classes far apart along one axis, `dominant` times as wide as the next one, around a weak mean."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    wide = np.sqrt(np.exp(-np.arange(DIM) / 15) + 0.01)
    parts = rng.standard_normal((COUNT, DIM)) * wide
    parts[:, 0] = dominant * (rng.choice([-1.0, 1.0], COUNT) + 0.3 * rng.standard_normal(COUNT))
    # The axis spares no coordinate but weighs differently on each, and so does the mean.
    return (parts @ axes.T + 0.4 * rng.standard_normal(DIM)).astype(np.float32)


def dictionary_of(vectors: np.ndarray) -> Dictionary:
    return Dictionary(vectors, vectors.std(axis=0), np.ones(vectors.shape[1], dtype=bool), "cpu")


def release(vectors: np.ndarray, defense: Any, private: int) -> tuple[np.ndarray, np.ndarray, Any]:
    out, key = defense.release(vectors[:private], np.zeros((private, 1), np.float32), None, np.random.default_rng(3))
    encodings: np.ndarray = out.encodings
    return encodings, key.members, key


def recall(vectors: np.ndarray, defense: Any, private: int) -> float:
    encodings, members, _ = release(vectors, defense, private)
    known = SimpleNamespace(
        options={"k": members.shape[1]},
        release=lambda rows, labels, rng, epochs=1: defense.release(rows, labels, None, rng, epochs=epochs),
    )
    corpus = Corpus([f"sentence {i}" for i in range(len(vectors))], vectors)
    view: Any = SimpleNamespace(
        encodings=encodings, corpus=corpus, defense=known, device="cpu", stage=lambda text: None
    )
    ranking = Unmix().run(view, np.random.default_rng(1)).ranking
    assert ranking is not None
    pairs = [
        (set(true), set(named[: len(true)])) for true, named in zip(members.tolist(), ranking.tolist(), strict=True)
    ]
    return sum(len(true & named) for true, named in pairs) / sum(len(true) for true, _ in pairs)


@pytest.mark.parametrize("m", [8, "inf"])
def test_mixes_are_read_though_one_axis_holds_most_variance(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = sentences(dominant=10)
    after = recall(vectors, TextHide(m=m), private=64)
    monkeypatch.setattr(dense, "DOMINANT", 1.0)
    before = recall(vectors, TextHide(m=m), private=64)
    assert after >= 0.97
    assert after > before + 0.05  # a common precision does fail here


def test_only_a_dominant_axis_calls_for_it() -> None:
    assert not dense.dominated(dictionary_of(sentences(dominant=1)))
    assert dense.dominated(dictionary_of(sentences(dominant=10)))


def test_signs_come_out_better_than_with_a_common_precision() -> None:
    vectors = sentences(dominant=10)
    dictionary = dictionary_of(vectors)
    encodings, _, key = release(vectors, TextHide(m="inf"), private=64)
    seen = dictionary.load(encodings)
    signed = seen * torch.as_tensor(key.pool[key.mask].astype(np.float32))
    model, rho = torch.zeros_like(seen), torch.full((len(seen), 1), 0.36)
    noise = torch.zeros(dictionary.dim)
    careful = dense.recover(dictionary, seen.abs(), model, rho, noise, None)
    common = signs.recover(dictionary, seen.abs(), model, rho, noise, None, 20)
    plain = dictionary.mean + common.target @ dictionary.axes.T

    def right(guess: torch.Tensor) -> float:
        return float((guess.sign() == signed.sign()).float().mean())

    assert right(careful.message.mean) > right(plain) + 0.03


def test_with_equal_sites_it_is_the_plain_metric() -> None:
    """Sites of one variance make the dense metric diagonal along the axes: choice and weights must agree."""
    vectors = sentences(dominant=10)
    dictionary = dictionary_of(vectors)
    encodings, members, _ = release(vectors, TextHide(m=0), private=32)
    seen = dictionary.load(encodings)
    rho = torch.full((len(seen), 1), 0.4)
    noise = 0.1 * rho  # a ratio that the table of norms holds
    covariance = rho[:, :, None] * dictionary.covariance + torch.diag_embed(noise.expand(-1, DIM))
    careful = dense.DenseBelief(torch.linalg.inv(covariance), rho, dense.Sites(seen, noise.expand(-1, DIM)))
    target = (seen - dictionary.mean) @ dictionary.axes
    plain = signs.Belief(target, noise, rho, None, dictionary.mean.expand(len(seen), -1))
    support = torch.as_tensor(members)
    for mine, theirs in zip(
        careful.refit(dictionary, support, 0.1), plain.refit(dictionary, support, 0.1), strict=True
    ):
        assert torch.allclose(mine, theirs, atol=1e-3)
    taken = support.clone()
    taken[:, 2:] = -1
    model = plain.refit(dictionary, taken, 0.1)[1]
    mine, theirs = (belief.best(dictionary, model, taken, 0.1, 3, None) for belief in (careful, plain))
    assert torch.equal(mine[0][:, 0], theirs[0][:, 0])
    assert torch.allclose(mine[1][:, 0], theirs[1][:, 0], atol=0.02)
    assert not (mine[0][:, :, None] == taken[:, None, :]).any()


def test_a_singular_corpus_and_an_encoding_of_zeros_stay_finite() -> None:
    """Fewer sentences than dimensions: the covariance has no inverse in float32."""
    vectors = sentences(dominant=1000)[:20]
    dictionary = dictionary_of(vectors)
    seen = torch.cat([torch.zeros(1, DIM), dictionary.scaled[:3]])
    model, rho = torch.zeros_like(seen), torch.ones(len(seen), 1)
    belief = dense.recover(dictionary, seen.abs(), model, rho, torch.zeros(DIM), None)
    for _ in range(5):
        belief = dense.recover(dictionary, seen.abs(), model, belief.rho, torch.zeros(DIM), belief.message)
    assert belief.precision.isfinite().all()
    assert belief.message.mean.isfinite().all()
    index, odds = belief.best(dictionary, model, torch.full((len(seen), 1), -1), 0.25, 2, None)
    assert odds.isfinite().all()
    assert index.shape == (4, 2)
