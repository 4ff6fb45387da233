from __future__ import annotations

import numpy as np
import pytest

from bench.errors import DataError
from bench.plugins.registry import Registry


def scene(n: int = 40, d: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)).astype(np.float32), np.eye(4, dtype=np.float32)[np.arange(n) % 4]


@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_a_pair_is_one_other_picture_by_a_fixed_share_under_masks_that_are_used_once(alpha: float) -> None:
    vectors, labels = scene()
    defense = Registry().make("defense", f"instahide-pair:alpha={alpha}")
    release, key = defense.release(vectors, labels, None, np.random.default_rng(1), epochs=3)
    own, other = key.members.T
    assert (own != other).all()
    assert (own == key.owner).all()
    expected = (1 - alpha) * vectors[own] + alpha * vectors[other]
    np.testing.assert_allclose(np.abs(release.encodings), np.abs(expected), atol=1e-5)
    assert 0.45 < (np.sign(release.encodings) == np.sign(expected)).mean() < 0.55
    np.testing.assert_allclose(release.labels, (1 - alpha) * labels[own] + alpha * labels[other], atol=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_noise_is_as_large_as_the_share_that_it_takes_the_place_of(alpha: float) -> None:
    vectors, labels = scene()
    defense = Registry().make("defense", f"laplace-noise:alpha={alpha}")
    release, key = defense.release(vectors, labels, None, np.random.default_rng(1), epochs=30)
    noise = release.encodings - (1 - alpha) * vectors[key.owner]
    np.testing.assert_allclose(noise, key.noise, atol=1e-5)
    assert np.abs(noise).mean() == pytest.approx(np.abs(alpha * vectors).mean(), rel=0.02)
    # Laplace: the mean square is twice the squared mean of absolute values.
    assert np.square(noise).mean() == pytest.approx(2 * np.abs(noise).mean() ** 2, rel=0.05)
    np.testing.assert_array_equal(release.labels, labels[key.owner])


@pytest.mark.parametrize("name", ["instahide-pair", "laplace-noise"])
@pytest.mark.parametrize("alpha", [0, 1, -0.5, 2])
def test_a_share_lies_between_0_and_1(name: str, alpha: float) -> None:
    with pytest.raises(Exception, match="alpha must lie between 0 and 1"):
        Registry().make("defense", f"{name}:alpha={alpha}")


def test_pixels_that_are_not_normalised_are_refused_under_a_mask() -> None:
    vectors, labels = scene()
    defense = Registry().make("defense", "instahide-pair")
    with pytest.raises(DataError, match="abs"):
        defense.release(np.abs(vectors), labels, None, np.random.default_rng(0))
