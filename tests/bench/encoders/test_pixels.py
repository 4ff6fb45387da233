from __future__ import annotations

import numpy as np
import pytest

from bench.encoders.pixels import Pixels
from bench.errors import DataError
from bench.toolkit.pictures import STATISTICS, shape_of


@pytest.mark.parametrize(("channels", "name"), [(1, "mnist"), (3, "cifar10")])
def test_channels_are_normalised_by_published_statistics_and_come_back(channels: int, name: str) -> None:
    images = np.random.default_rng(0).random((4, channels, 5, 5), dtype=np.float32)
    vectors = Pixels().encode(images)
    assert vectors.shape == (4, channels * 25)
    mean, spread = STATISTICS[name]
    expected = (images[2, -1, 3, 1] - mean[-1]) / spread[-1]
    assert vectors[2].reshape(channels, 5, 5)[-1, 3, 1] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(Pixels().decode(vectors), images, atol=1e-6)
    assert np.array_equal(Pixels(normalise="none").encode(images), images.reshape(4, -1))


@pytest.mark.parametrize(("width", "shape"), [(784, (1, 28, 28)), (3072, (3, 32, 32)), (64, (1, 8, 8)), (3, (3, 1, 1))])
def test_the_width_of_a_row_tells_the_shape_of_a_square_picture(width: int, shape: tuple[int, ...]) -> None:
    assert shape_of(width) == shape


def test_rows_that_are_no_pictures_are_refused() -> None:
    with pytest.raises(DataError, match="384 values are no square picture"):
        shape_of(384)


def test_options_are_told_apart() -> None:
    assert Pixels().fingerprint != Pixels(normalise="none").fingerprint
