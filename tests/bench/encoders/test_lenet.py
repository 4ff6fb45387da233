"""The encoder of pictures against the same network written out in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from bench.encoders import lenet
from bench.encoders.lenet import LeNet
from bench.errors import DataError

IMAGES = np.random.default_rng(0).random((5, 2, 8, 8), dtype=np.float32)


def written_out(images: np.ndarray, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Three 5 × 5 convolutions with sigmoids, of strides 2, 2 and 1; then the hidden layer, if there is one."""
    found = images.astype(np.float64)
    for i, stride in enumerate((2, 2, 1), 1):
        padded = np.pad(found, ((0, 0), (0, 0), (2, 2), (2, 2)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(2, 3))[:, :, ::stride, ::stride]
        sums = np.einsum("nchwyx,ocyx->nohw", windows, weights[f"conv{i}.weight"])
        found = 1 / (1 + np.exp(-(sums + weights[f"conv{i}.bias"][:, None, None])))
    flat = found.reshape(len(found), -1)
    return flat @ weights["hidden.weight"].T + weights["hidden.bias"] if "hidden.weight" in weights else flat


@pytest.mark.parametrize(("d", "width"), [(0, 12 * 2 * 2), (7, 7)])
def test_vectors_are_those_of_the_network(d: int, width: int) -> None:
    encoder = LeNet(d=d)
    found = encoder.encode(IMAGES)
    assert found.shape == (5, width)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, written_out(IMAGES, encoder.weights((2, 8, 8))), atol=1e-5)


def test_blocks_leave_no_picture_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = LeNet(d=3).encode(IMAGES)
    monkeypatch.setattr(lenet, "BLOCK", 2)
    np.testing.assert_allclose(LeNet(d=3).encode(IMAGES), whole, atol=1e-6)
    np.testing.assert_allclose(LeNet(d=3).encode(IMAGES[[4, 3, 2, 1, 0]]), whole[::-1], atol=1e-6)


def test_weights_are_drawn_anew_for_another_init_and_stay_for_another_size() -> None:
    first, again, other, wider = (
        encoder.weights((2, 8, 8)) for encoder in (LeNet(), LeNet(), LeNet(init=1), LeNet(d=4))
    )
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["conv1.weight"], other["conv1.weight"])
    assert all(np.array_equal(first[name], wider[name]) for name in first)
    assert set(wider) - set(first) == {"hidden.weight", "hidden.bias"}


def test_the_weights_of_published_records_stay_what_they_are() -> None:
    weights = LeNet(d=3).weights((1, 8, 8))
    assert weights["conv1.weight"].ravel()[:3].tolist() == pytest.approx([0.1540171, -0.3413347, -0.2469627], rel=1e-6)
    assert weights["hidden.weight"].ravel()[:3].tolist() == pytest.approx([-0.3787824, -0.4536867, 0.4331042], rel=1e-6)
    assert LeNet().fingerprint == "53e00f7f7a148dbd"


def test_a_fingerprint_tells_encoders_apart() -> None:
    prints = {LeNet(d=d, init=init).fingerprint for d in (0, 1, 11) for init in (0, 1)}
    assert len(prints) == 6
    assert LeNet(d=1).fingerprint == LeNet(d=1).fingerprint


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="d must be at least 1, or 0 for no hidden layer"):
        LeNet(d=-1)
    with pytest.raises(DataError, match="at least 5 pixels"):
        LeNet().encode(np.zeros((1, 1, 8, 4), np.float32))
