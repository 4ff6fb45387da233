"""Centred magnitudes tell sentences apart whatever their signs."""

from __future__ import annotations

import numpy as np
import torch

from bench.attacks.common.magnitudes import own_mean, standardised

RNG = np.random.default_rng(0)
CORPUS = (RNG.standard_normal((50, 6)) + 2).astype(np.float32)


def test_signs_do_not_count() -> None:
    signs = RNG.choice([-1, 1], CORPUS.shape).astype(np.float32)
    encodings, corpus = standardised(CORPUS * signs, CORPUS, mixed=False)
    assert np.array_equal(encodings, corpus)
    assert np.allclose(corpus.mean(axis=0), 0, atol=1e-6)
    assert np.allclose(corpus.std(axis=0), 1, atol=1e-6)


def test_a_coordinate_that_does_not_vary_says_nothing() -> None:
    corpus = CORPUS.copy()
    corpus[:, 2] = 0.25
    encodings, found = standardised(corpus[:3] + 1, corpus, mixed=False)
    assert not encodings[:, 2].any()
    assert not found[:, 2].any()
    assert np.isfinite(encodings).all()


def test_mixes_are_centred_by_their_own_mean_and_a_single_one_keeps_something() -> None:
    shrunk = CORPUS / 2
    apart, _ = standardised(shrunk, CORPUS, mixed=True)
    assert np.abs(apart.mean(axis=0)).max() < np.abs(standardised(shrunk, CORPUS, mixed=False)[0].mean(axis=0)).min()
    single, _ = standardised(shrunk[:1], CORPUS, mixed=True)
    assert np.abs(single).max() > 0.1


def test_the_mean_is_the_same_in_numpy_and_torch() -> None:
    total, mean = np.abs(CORPUS[:5]).sum(axis=0), np.abs(CORPUS).mean(axis=0)
    found = own_mean(torch.tensor(total), 5, torch.tensor(mean))
    assert np.allclose(found.numpy(), own_mean(total, 5, mean))
    assert np.allclose(own_mean(total, 5, mean), (total + 4 * mean) / 9)
