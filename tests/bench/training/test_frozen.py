"""The head that utility is measured by: what it answers is decided by the data, the settings and the seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from bench.training.frozen import Training, fit, one_thread

QUICK = Training(epochs=4, batch=16, rate=1e-2)
LONGER = Training(epochs=20, batch=8, rate=5e-3)
Goodness = Callable[[np.ndarray], tuple[float, ...]]


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """torch imports its compiler with the first optimizer: seconds that no test here is about."""
    torch.optim.AdamW([torch.zeros(1, requires_grad=True)])


def data(n: int = 64, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that the first coordinate tells apart."""
    x = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    return x, np.eye(2, dtype=np.float32)[(x[:, 0] > 0).astype(int)]


def trained(
    x: np.ndarray,
    y: np.ndarray,
    goodness: Goodness = lambda scores: (0.0,),
    *,
    training: Training = QUICK,
    seed: int = 0,
    classes: bool = True,
    said: list[str] | None = None,
) -> Any:
    order = np.tile(np.arange(len(x)), training.epochs)
    told = [] if said is None else said
    options = {"training": training, "seed": seed, "device": "cpu", "progress": told.append}
    return fit(x[order], y[order], (x, x), goodness, classes=classes, **options)


class Peak:
    """Best at one epoch; keeps the scores of all."""

    def __init__(self, *values: float):
        self.values, self.seen = values, []

    def __call__(self, scores: np.ndarray) -> tuple[float, ...]:
        self.seen.append(scores)
        return (self.values[len(self.seen) - 1],)


def test_the_same_seed_gives_the_same_scores_and_another_gives_others() -> None:
    x, y = data()
    first = trained(x, y)[0]
    torch.rand(5)  # whatever was drawn before
    assert np.array_equal(first, trained(x, y)[0])
    assert not np.array_equal(first, trained(x, y, seed=1)[0])


@pytest.mark.parametrize(
    ("values", "epoch"),
    [((1, 3, 2, 0), 2), ((0, 1, 2, 3), 4), ((5, 5, 5, 5), 1), ((-9, -9, -7, -8), 3)],
)
def test_scores_are_those_of_the_epoch_that_was_best_and_of_the_first_among_equals(
    values: tuple[float, ...], epoch: int
) -> None:
    goodness = Peak(*values)
    scores, chosen, best = trained(*data(), goodness)
    assert (chosen, best) == (epoch, (max(values),))
    assert len(goodness.seen) == 4
    assert np.array_equal(scores, goodness.seen[epoch - 1])  # the same questions were asked for both
    assert not any(np.array_equal(scores, other) for i, other in enumerate(goodness.seen) if i != epoch - 1)


def test_a_head_that_is_never_good_stays_as_it_began() -> None:
    goodness = Peak(*[float("nan")] * 4)
    scores, chosen, best = trained(*data(), goodness)
    assert (chosen, best) == (0, (-np.inf,))
    assert not any(np.array_equal(scores, other) for other in goodness.seen)


def test_classes_are_learnt() -> None:
    x, y = data(d=16)
    scores, _, _ = trained(x, y, Peak(*range(20)), training=LONGER)
    assert (scores.argmax(axis=1) == y.argmax(axis=1)).mean() > 0.95


def test_constant_targets_are_answered_by_the_constant() -> None:
    x, _ = data()
    targets = np.full((64, 1), 5000, dtype=np.float32)
    scores, _, _ = trained(x, targets, Peak(1, 2, 3, 4), classes=False)
    assert scores.shape == (64, 1)
    assert np.abs(scores - 5000).max() < 1


def test_targets_are_learnt_in_their_own_unit() -> None:
    x, _ = data(d=16)
    targets = 1000 + 300 * x[:, :1]
    scores, _, _ = trained(x, targets, Peak(*range(20)), training=LONGER, classes=False)
    assert np.corrcoef(scores[:, 0], targets[:, 0])[0, 1] > 0.9
    assert scores.mean() == pytest.approx(targets.mean(), abs=100)


def test_neither_scale_nor_a_constant_coordinate_matters() -> None:
    x, y = data()
    x[:, 3] = 0.25
    scores = trained(x, y)[0]
    assert np.isfinite(scores).all()
    assert np.allclose(trained(x * 1024 + 512, y)[0], scores, atol=1e-2)


def test_epochs_are_counted_by_the_data_however_large_the_batches() -> None:
    x, y = data()
    said: list[str] = []
    assert trained(x, y, Peak(1, 2, 3, 4), said=said)[1] == 4
    assert said == [f"training, epoch {i} of 4" for i in (1, 2, 3, 4)]
    goodness = Peak(1)
    assert trained(x, y, goodness, training=Training(epochs=4, batch=1000))[1] == 4  # one step for all of them
    assert len(goodness.seen) == 1


def test_threads_are_restored_also_after_an_error() -> None:
    def fail() -> None:
        with one_thread("cpu"):
            raise ValueError(f"on {torch.get_num_threads()} thread")

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(ValueError, match="on 1 thread"):
            fail()
        assert torch.get_num_threads() == 2
        with one_thread("cuda"):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
