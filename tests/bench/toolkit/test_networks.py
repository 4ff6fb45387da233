from __future__ import annotations

import numpy as np
import pytest
import torch

from bench.encoders.lenet import LeNet
from bench.errors import DataError
from bench.toolkit.networks import SPREAD, Victim, body_weights, head, head_weights, layer


def test_the_text_head_is_the_one_that_is_trained_for_utility() -> None:
    network = head(8, 3, 3, dropout=0.1).eval()
    linear = [part for part in network if isinstance(part, torch.nn.Linear)]
    named = {f"head{i}.{kind}": getattr(part, kind) for i, part in enumerate(linear, 1) for kind in ("weight", "bias")}
    victim = Victim({name: value.detach().numpy() for name, value in named.items()})
    x = torch.randn(4, 8)
    assert torch.allclose(victim.answer(victim.tensors(), x), network(x))
    assert (victim.layers, victim.dim, victim.outputs) == (4, 8, 3)


def test_an_untrained_head_is_drawn_as_torch_draws_it_but_not_from_torchs_stream() -> None:
    before = torch.get_rng_state()
    ours = head_weights(256, 64, 1, np.random.default_rng(0))
    assert torch.equal(before, torch.get_rng_state())
    theirs = head(256, 64, 1)
    for name, part in (("head1", theirs[0]), ("head2", theirs[-1])):
        for kind in ("weight", "bias"):
            own, other = ours[f"{name}.{kind}"], getattr(part, kind).detach().numpy()
            assert own.shape == other.shape
            assert np.abs(own).max() <= 1 / 16
            assert own.std() == pytest.approx(other.std(), rel=0.2)


def test_the_body_is_the_papers() -> None:
    weights = body_weights((3, 32, 32), 16, np.random.default_rng(0))
    assert {name: w.shape for name, w in weights.items() if name.endswith("weight")} == {
        "conv1.weight": (12, 3, 5, 5),
        "conv2.weight": (12, 12, 5, 5),
        "conv3.weight": (12, 12, 5, 5),
        "hidden.weight": (16, 768),
    }
    for value in weights.values():
        assert np.abs(value).max() <= SPREAD
        assert np.abs(value).max() > 0.6 * SPREAD


def test_the_body_does_not_depend_on_the_hidden_size() -> None:
    one, other = (LeNet(d=d).weights((1, 8, 8)) for d in (0, 7))
    assert np.array_equal(one["conv3.weight"], other["conv3.weight"])
    assert "hidden.weight" not in one
    assert not np.array_equal(LeNet(init=1).weights((1, 8, 8))["conv1.weight"], one["conv1.weight"])


@pytest.mark.parametrize("d", [0, 5])
def test_pictures_are_encoded_to_the_representation(d: int) -> None:
    images = np.random.default_rng(0).random((600, 1, 8, 8), dtype=np.float32)
    encoder = LeNet(d=d)
    vectors = encoder.encode(images)
    assert vectors.shape == (600, d or 48)
    victim = Victim({**encoder.weights((1, 8, 8)), **layer("head1", (2, 3), np.random.default_rng(0))}, (1, 8, 8))
    last = victim.represent(victim.tensors(), torch.tensor(images[-1:]))
    assert np.allclose(vectors[-1], last.numpy()[0], atol=1e-5)


@pytest.mark.parametrize("picture", [(3, 4, 4), (8, 8)])
def test_pictures_that_do_not_fit_are_named(picture: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="do not fit"):
        body_weights(picture, 4, np.random.default_rng(0))


def test_a_negative_hidden_size_is_refused() -> None:
    with pytest.raises(ValueError, match="d must be"):
        LeNet(d=-1)
