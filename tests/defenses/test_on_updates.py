"""Defenses of what a client sends, alone and behind a defense of the representation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import UsageError
from bench.defenses.on_updates import DpSgd, Prune
from bench.experiment import identity
from bench.experiment.cells import cells, trials
from bench.plugins.registry import Registry
from bench.surfaces.updates import TrainingClient
from bench.toolkit.privacy import gaussian_epsilon
from tests.helpers.rounds import round_cell, scene_and_view

RNG = np.random.default_rng(0)


def _updates(folder: Path, defense: str, **sizes: object) -> dict[str, np.ndarray]:
    """All tensors of the first update."""
    found, _ = scene_and_view(round_cell(folder, "token-rows", defense, **sizes), folder / defense.replace("/", "-"))
    assert isinstance(found.client, TrainingClient)
    return next(iter(found.client.round.updates(list(found.client.round.shapes()))))


def test_two_defenses_are_joined_by_a_plus(tmp_path: Path) -> None:
    cell = round_cell(tmp_path, defense="texthide:m=4,k=2+dp-sgd:noise=0.1")
    assert cell.defense.label == "dp-sgd:of=texthide/m=4/k=2,noise=0.1"
    assert (cell.defense.plugin.inner.m, cell.defense.plugin.inner.k) == (4, 2)
    record = identity.describe(cell)
    assert identity.describe(identity.cell_of(Registry(), record)).id == record.id
    alone = identity.describe(round_cell(tmp_path, defense="dp-sgd:noise=0.1"))
    assert alone.code["defense"] != record.code["defense"]  # the code of both counts
    with pytest.raises(UsageError, match="one defense of the representation and one of updates"):
        round_cell(tmp_path, defense="texthide+prune+dp-sgd")
    with pytest.raises(UsageError, match="is a defense of updates itself"):
        round_cell(tmp_path, defense="prune+dp-sgd")


def test_less_may_be_sent_and_the_rest_be_noisy(tmp_path: Path) -> None:
    names = _updates(tmp_path, "head-only+dp-sgd:noise=1")
    assert all(name.startswith("head") for name in names)
    behind = DpSgd(noise=3.0, of="head-only/of=texthide").notes()["accounted"]["epsilon"]
    assert behind == DpSgd(noise=3.0, of="texthide").notes()["accounted"]["epsilon"]


def test_a_plus_in_an_option_joins_nothing() -> None:
    axes = {"defense": ["release-once:words=good+fine/bad+dull,r=1"], "dataset": ["demo"], "encoder": ["minilm"]}
    (trial,) = trials(Registry(), axes)
    assert trial.defense.plugin.words == "good+fine/bad+dull"


def test_every_item_is_clipped_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    plain = _updates(tmp_path, "none")
    loose = _updates(tmp_path, "dp-sgd:noise=0,clip=1000")
    tight = _updates(tmp_path, "dp-sgd:noise=0,clip=0.001")
    # Another defense draws its items in another order: the same but for rounding.
    assert all(np.allclose(plain[name], loose[name], atol=1e-6) for name in plain)
    norm = np.sqrt(sum(float((value.astype(np.float64) ** 2).sum()) for value in tight.values()))
    assert 0 < norm <= 0.001 * (1 + 1e-5)


def test_noise_has_the_size_that_epsilon_is_computed_from(tmp_path: Path) -> None:
    quiet, loud = (_updates(tmp_path, f"dp-sgd:noise={noise},clip=2") for noise in (0, 3))
    gap = np.concatenate([(loud[name] - quiet[name]).ravel() for name in quiet])
    assert gap.std() == pytest.approx(3 * 2 / 4, rel=0.05)  # a mean of four
    said = DpSgd(noise=3.0).notes()["accounted"]["epsilon"]
    assert said == pytest.approx(gaussian_epsilon(2.0, 3.0, 1e-5))
    mixed = DpSgd(noise=3.0, of="texthide/k=4", rounds=9).notes()["accounted"]["epsilon"]
    assert mixed == pytest.approx(gaussian_epsilon(2.0 * 4 * 3, 3.0, 1e-5))
    assert DpSgd(noise=0.0).notes() == {}


def test_the_smallest_entries_are_dropped() -> None:
    value = np.array([[0.0, -5.0, 1.0], [2.0, -3.0, 4.0]], np.float32)
    assert Prune(share=0.5).altered("x", value, 4, RNG).tolist() == [[0, -5, 0], [0, -3, 4]]
    assert not Prune().altered("x", np.zeros((2, 2), np.float32), 4, RNG).any()


@pytest.mark.parametrize(
    ("defense", "sent", "kept"),
    [
        ("frozen-embeddings", "layer.0.down.weight", "embeddings.word"),
        ("texthide:k=2+top-layers:n=2", "layer.1.down.weight", "layer.0.down.weight"),
        ("head-only", "head1.weight", "layer.2.down.weight"),
    ],
)
def test_what_is_not_sent(tmp_path: Path, defense: str, sent: str, kept: str) -> None:
    names = _updates(tmp_path, defense)
    assert sent in names
    assert kept not in names


def test_nothing_is_left_to_send(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave nothing to send"):
        _updates(tmp_path, "head-only", update="share=encoder")


def test_clipping_is_of_one_step(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave out steps and optimizer"):
        _updates(tmp_path, "dp-sgd", update="steps=2")


@pytest.mark.parametrize(
    "spec", ["dp-sgd:noise=-1", "dp-sgd:clip=0", "prune:share=1", "top-layers:n=0", "dp-sgd:of=nobody"]
)
def test_options_that_cannot_be(spec: str) -> None:
    with pytest.raises(UsageError) as error:
        cells(Registry(), {"defense": [spec], "attack": ["span"]}, {})
    assert "\n" not in str(error.value)
