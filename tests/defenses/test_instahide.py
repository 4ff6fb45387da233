from __future__ import annotations

import numpy as np
import pytest

from bench import Corpus, Key, mixing
from bench.defenses.instahide import PAIR, bounded_weights
from bench.encoders.pixels import Pixels
from bench.errors import DataError, UsageError
from bench.plugins.registry import Registry


def vectors(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 48)).astype(np.float32)


def public(n: int) -> Corpus:
    return Corpus([f"public {i}" for i in range(n)], vectors(n, seed=9))


def written_out(key, private: np.ndarray, shared: np.ndarray | None) -> np.ndarray:
    """Algorithm 2 of the paper, item by item."""
    out = []
    for i in range(len(key.owner)):
        mixed = np.zeros(private.shape[1])
        for j, weight in enumerate(key.weights[i]):
            member = key.members[i, j]
            mixed += weight * (private[member] if member >= 0 else shared[key.public[i, j]])
        out.append(mixed * key.pool[key.mask[i]])
    return np.array(out)


@pytest.mark.parametrize("k", range(1, 9))
def test_inside_mixes_k_private_pictures_under_masks_that_are_used_once(k: int) -> None:
    private = vectors(20)
    labels = np.eye(4, dtype=np.float32)[np.arange(20) % 4]
    release, key = (
        Registry()
        .make("defense", f"instahide:k={k}")
        .release(private, labels, None, np.random.default_rng(1), epochs=3)
    )
    assert key.members.shape == (60, k)
    assert len(np.unique(key.mask)) == 60
    assert key.one_time
    assert release.encodings.dtype == np.float32
    np.testing.assert_allclose(release.encodings, written_out(key, private, None), atol=1e-5)
    np.testing.assert_allclose(np.sum(release.labels, axis=1), 1, atol=1e-5)
    assert k == 1 or key.weights.max() <= 0.65


def test_cross_mixes_two_private_pictures_with_public_ones_that_have_no_labels() -> None:
    private, shared = vectors(30), public(40)
    labels = np.eye(3, dtype=np.float32)[np.arange(30) % 3]
    defense = Registry().make("defense", "instahide-cross:k=6,weights=uniform")
    release, key = defense.release(private, labels, shared, np.random.default_rng(0), epochs=20)
    assert (key.members[:, :PAIR] >= 0).all()
    assert (key.members[:, PAIR:] == -1).all()
    assert (np.sort(key.public[:, PAIR:], axis=1)[:, 1:] != np.sort(key.public[:, PAIR:], axis=1)[:, :-1]).all()
    assert key.weights.max() <= 0.65
    assert key.weights[:, :PAIR].sum(axis=1).min() >= 0.3
    np.testing.assert_allclose(np.sum(release.labels, axis=1), key.weights[:, :PAIR].sum(axis=1), atol=1e-5)
    np.testing.assert_allclose(release.encodings, written_out(key, private, shared.vectors), atol=1e-5)
    normalised = Registry().make("defense", "instahide-cross:labels=normalised")
    other, _ = normalised.release(private, labels, shared, np.random.default_rng(0))
    np.testing.assert_allclose(np.sum(other.labels, axis=1), 1, atol=1e-5)


def test_public_draws_do_not_depend_on_each_other() -> None:
    """The authors' code once took neighbouring ones, so that one told the next."""
    _, key = (
        Registry()
        .make("defense", "instahide-cross:k=4")
        .release(vectors(50), np.eye(50, dtype=np.float32), public(100), np.random.default_rng(3), epochs=80)
    )
    first, second = key.public[:, PAIR], key.public[:, PAIR + 1]
    assert np.bincount(first, minlength=100).min() > 0
    counts = np.bincount((second - first) % 100, minlength=100)[1:]
    assert counts.max() < 3 * counts.mean()
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.05


def test_bounds_shape_the_law_of_the_weights_by_rejection() -> None:
    rng = np.random.default_rng(0)
    found = bounded_weights(4000, 4, "half-normal", rng, c1=0.5, c2=0.6)
    plain = mixing.draw_weights(200_000, 4, "half-normal", rng)
    kept = plain[(plain.max(axis=1) <= 0.5) & (plain[:, :2].sum(axis=1) >= 0.6)]
    np.testing.assert_allclose(found.mean(axis=0), kept.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    with pytest.raises(UsageError, match="too rare"):
        bounded_weights(50, 8, "half-normal", rng, c1=0.1251)


def test_a_mask_on_pixels_between_0_and_1_is_undone_by_abs() -> None:
    images = np.random.default_rng(0).random((12, 3, 4, 4), dtype=np.float32)
    raw, normalised = Pixels(normalise="none").encode(images), Pixels().encode(images)
    labels = np.zeros((12, 1), dtype=np.float32)
    rng = np.random.default_rng(0)
    members = mixing.draw_members(12, 4, 1, rng, batch="all", distinct=False)
    weights = bounded_weights(12, 4, "half-normal", rng, c1=0.65)
    key = Key(members[:, 0], members, weights, *mixing.draw_masks(12, 48, "inf", rng))
    bare = Key(key.owner, key.members, key.weights)
    np.testing.assert_allclose(np.abs(mixing.apply(raw, key)), mixing.apply(raw, bare), atol=1e-6)
    assert np.abs(np.abs(mixing.apply(normalised, key)) - mixing.apply(normalised, bare)).max() > 0.5
    with pytest.raises(DataError, match="abs\\(\\) would undo the mask"):
        Registry().make("defense", "instahide").release(raw, labels, None, rng)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("instahide:k=0", "between 1 and 8"),
        ("instahide:k=9", "between 1 and 8"),
        ("instahide:k=2,c1=0.5", "c1 must lie above 1/k"),
        ("instahide-cross:k=2", "use instahide"),
        ("instahide-cross:k=1", "use instahide"),
        ("instahide-cross:c2=1.2", "c2 must lie between"),
        ("instahide-cross:public=", "public must name"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Registry().make("defense", spec)


def test_too_few_pictures_are_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="mixes 4 public pictures, and there are 3"):
        Registry().make("defense", "instahide-cross:k=6").release(
            vectors(10), np.zeros((10, 1), np.float32), public(3), np.random.default_rng(0)
        )
    for name, shared in (("instahide:k=4", None), ("instahide-cross", public(9))):
        with pytest.raises(UsageError, match="more examples than there are"):
            Registry().make("defense", name).release(
                vectors(1), np.zeros((1, 1), np.float32), shared, np.random.default_rng(0)
            )


def test_constant_pictures_are_released_like_others() -> None:
    flat = np.full((5, 3, 4, 4), 0.2, dtype=np.float32)
    release, _ = (
        Registry()
        .make("defense", "instahide:k=2")
        .release(Pixels().encode(flat), np.zeros((5, 1), np.float32), None, np.random.default_rng(0))
    )
    np.testing.assert_allclose(np.abs(release.encodings), np.abs(Pixels().encode(flat)), atol=1e-5)
    assert np.isfinite(release.encodings).all()
