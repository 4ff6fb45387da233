from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bench import Corpus, Key, mixing
from bench.errors import UsageError
from bench.plugins.registry import Registry


def slow_mix(values: np.ndarray, key: Key) -> np.ndarray:
    """Algorithm 1 as it is printed, row by row."""
    out = np.zeros((len(key.members), values.shape[1]))
    for i in range(len(out)):
        for j, member in enumerate(key.members[i]):
            out[i] += float(key.weights[i, j]) * values[member].astype(float)
    return out


@st.composite
def schemes(draw: st.DrawFn) -> tuple[int, int, int, dict[str, Any]]:
    n = draw(st.integers(2, 70))
    batch = draw(st.one_of(st.just("all"), st.integers(2, 40)))
    smallest = n if batch == "all" else n // -(-n // batch)
    k = draw(st.integers(1, min(8, smallest)))
    distinct = draw(st.booleans())
    weights = draw(st.sampled_from(["half-normal", "uniform"]))
    m = draw(st.sampled_from([0, 1, 3, 16, "inf"]))
    options = {"k": k, "m": m, "weights": weights, "distinct": distinct, "batch": batch}
    return n, draw(st.integers(1, 4)), draw(st.integers(0, 2**32 - 1)), options


@settings(max_examples=80, deadline=None)
@given(schemes())
def test_a_release_keeps_every_promise(scheme: tuple[int, int, int, dict[str, Any]]) -> None:
    n, epochs, seed, options = scheme
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, 6)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[rng.integers(0, 3, n)]
    defense = Registry().make("defense", "texthide:" + ",".join(f"{a}={b}" for a, b in options.items()))
    release, key = defense.release(vectors, labels, None, rng, epochs=epochs)
    k, m = options["k"], options["m"]

    assert release.encodings.shape == (n * epochs, 6)
    assert release.encodings.dtype == np.float32
    assert (key.weights >= 0).all()
    np.testing.assert_allclose(key.weights.sum(axis=1), 1, atol=1e-6)
    # Permutations: every example owns one item an epoch and enters k.
    assert (np.bincount(key.owner, minlength=n) == epochs).all()
    assert (np.bincount(key.members.ravel(), minlength=n) == epochs * k).all()
    assert (key.members[:, 0] == key.owner).all()
    if options["distinct"]:
        assert all(len(set(row)) == k for row in key.members.tolist())
    if m == 0:
        assert key.mask is None
    else:
        assert set(np.unique(key.pool)) <= {-1, 1}
        assert len(key.pool) == (n * epochs if m == "inf" else m)
        assert key.mask.min() >= 0
        assert key.mask.max() < len(key.pool)
    # The key explains the release: exactly by the code, and by the printed algorithm to rounding.
    assert np.array_equal(mixing.apply(vectors, key), release.encodings)
    signs = 1 if m == 0 else key.pool[key.mask]
    np.testing.assert_allclose(slow_mix(vectors, key) * signs, release.encodings, atol=1e-5)
    np.testing.assert_allclose(slow_mix(labels, key), release.labels, atol=1e-5)
    assert len(np.asarray(release.labels)) == n * epochs


def test_no_mask_and_k_1_is_the_identity(sentence_vectors: Callable[..., np.ndarray]) -> None:
    vectors, labels = sentence_vectors(50), np.eye(2, dtype=np.float32)[np.arange(50) % 2]
    for spec in ("texthide:m=0,k=1", "mix-only:k=1", "none"):
        defense = Registry().make("defense", spec)
        release, key = defense.release(vectors, labels, None, np.random.default_rng(0), epochs=3)
        assert np.array_equal(release.encodings, vectors[key.owner])
        assert np.array_equal(release.labels, labels[key.owner])


def test_epochs_are_independent() -> None:
    """Partners and weights of an example in one epoch say nothing about those in the next."""
    rng = np.random.default_rng(1)
    members = mixing.draw_members(64, 2, 400, rng, batch=8, distinct=True)
    partner = np.full((64, 64), 0)
    np.add.at(partner, (members[:, 0], members[:, 1]), 1)
    off = partner[~np.eye(64, dtype=bool)]
    # 400 draws over 63 partners each: uniform, so the counts look like a fair die's.
    assert stats.chisquare(off.reshape(64, 63), axis=1).pvalue.min() > 1e-4
    weights = mixing.draw_weights(20_000, 2, "half-normal", rng)
    assert abs(np.corrcoef(weights[:-1, 0], weights[1:, 0])[0, 1]) < 0.03


def test_the_order_of_a_release_says_nothing() -> None:
    members = mixing.draw_members(20, 1, 200, np.random.default_rng(2), batch="all", distinct=False)
    owner = members[:, 0].reshape(200, 20)
    # Were epochs released one after another, every block of 20 rows would hold every example once.
    assert np.mean([len(set(row)) for row in owner.tolist()]) < 15


def test_permutations_leave_fixed_points_as_often_as_chance_does() -> None:
    members = mixing.draw_members(32, 2, 2000, np.random.default_rng(3), batch=32, distinct=False)
    assert abs((members[:, 0] == members[:, 1]).mean() - 1 / 32) < 0.003


def test_batches_are_near_equal_so_that_none_is_left_with_a_single_example() -> None:
    members = mixing.draw_members(33, 4, 300, np.random.default_rng(4), batch=32, distinct=True)
    assert members.shape == (33 * 300, 4)  # 33 = 32 + 1 would have left one example without partners


@pytest.mark.parametrize("how", ["half-normal", "uniform"])
def test_weights_have_the_stated_distribution(how: str) -> None:
    rng = np.random.default_rng(5)
    weights = mixing.draw_weights(20_000, 2, how, rng)  # type: ignore[arg-type]
    raw = rng.random((20_000, 2)) if how == "uniform" else np.abs(rng.standard_normal((20_000, 2)))
    assert stats.ks_2samp(weights[:, 0], raw[:, 0] / raw.sum(axis=1)).pvalue > 1e-3


def test_masks_are_fair_and_drawn_with_replacement() -> None:
    mask, pool = mixing.draw_masks(5000, 64, 256, np.random.default_rng(6))
    assert mask is not None
    assert pool is not None
    assert abs(pool.mean()) < 4 / np.sqrt(pool.size)
    assert stats.chisquare(np.bincount(mask, minlength=256)).pvalue > 1e-3


def test_gradients_flow_through_mix_and_mask(sentence_vectors: Callable[..., np.ndarray]) -> None:
    vectors = torch.tensor(sentence_vectors(12, 5), dtype=torch.float64, requires_grad=True)
    labels = torch.eye(2, dtype=torch.float64)[torch.arange(12) % 2]
    defense = Registry().make("defense", "texthide:m=4,k=3")
    release, key = defense.release(vectors, labels, None, np.random.default_rng(0), epochs=2)
    assert release.encodings.requires_grad
    release.encodings.sum().backward()
    # d(sum)/d(vector i, coordinate c) = sum over the items that hold i of weight · sign at c.
    expected = np.zeros((12, 5))
    signs = key.pool[key.mask]
    for j in range(3):
        np.add.at(expected, key.members[:, j], key.weights[:, j : j + 1] * signs)
    np.testing.assert_allclose(vectors.grad.numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(
        release.encodings.detach().numpy(), mixing.apply(vectors.detach().numpy(), key), atol=1e-5
    )


def test_public_slots_and_noise_are_part_of_what_a_key_explains() -> None:
    rng = np.random.default_rng(7)
    vectors, shared = rng.random((4, 3), dtype=np.float32), rng.random((5, 3), dtype=np.float32)
    key = Key(
        owner=np.array([0, 1]),
        members=np.array([[0, -1], [1, -1]]),
        weights=np.array([[0.75, 0.25], [0.5, 0.5]], dtype=np.float32),
        public=np.array([[-1, 4], [-1, 2]]),
        noise=np.full((2, 3), 0.1, dtype=np.float32),
    )
    public = Corpus([""] * 5, shared)
    expected = np.stack([0.75 * vectors[0] + 0.25 * shared[4], 0.5 * vectors[1] + 0.5 * shared[2]]) + 0.1
    np.testing.assert_allclose(mixing.apply(vectors, key, public), expected, atol=1e-6)
    np.testing.assert_allclose(mixing.apply(torch.tensor(vectors), key, public).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("spec", "n", "said"),
    [
        ("texthide:k=9", 5, "k=9 mixes more examples than there are"),
        ("mix-only:k=6,batch=4", 40, "above the mixing pool of 4"),
    ],
)
def test_too_large_a_k_is_explained(spec: str, n: int, said: str) -> None:
    defense = Registry().make("defense", spec)
    with pytest.raises(UsageError, match=said):
        defense.release(np.zeros((n, 3), dtype=np.float32), np.zeros((n, 2)), None, np.random.default_rng(0))


@pytest.mark.parametrize(
    "spec", ["texthide:k=0", "texthide:m=-1", "texthide:batch=0", "mix-only:k=-2", "mix-only:batch=0"]
)
def test_impossible_options_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="must be"):
        Registry().make("defense", spec)
