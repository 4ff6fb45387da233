from __future__ import annotations

import numpy as np
import pytest

from bench.datasets.digits import Digits
from bench.errors import DataError


def test_digits_are_pictures_with_names_of_their_own() -> None:
    train, dev = Digits().load("train"), Digits().load("dev")
    assert train.images is not None
    assert train.images.shape == (1437, 1, 8, 8)
    assert (train.images.min(), train.images.max()) == (0, 1)
    assert len(train) + len(dev) == 1797
    assert len({*train.texts, *dev.texts}) == 1797
    assert train.classes == tuple("0123456789")
    # A one is darker in its middle columns than a zero: pictures and labels belong together.
    mean = [train.images[train.labels == digit].mean(axis=(0, 1)) for digit in (0, 1)]
    assert mean[1][3:5, 3:5].mean() > 2 * mean[0][3:5, 3:5].mean()


def test_there_is_no_public_split() -> None:
    with pytest.raises(DataError, match="use train or dev"):
        Digits().load("public")


def test_some_of_them_keep_their_pictures() -> None:
    train = Digits().load("train")
    some = train.take(np.array([5, 2]))
    assert some.texts == ["digits train 5", "digits train 2"]
    assert train.images is not None
    assert some.images is not None
    assert np.array_equal(some.images, train.images[[5, 2]])
