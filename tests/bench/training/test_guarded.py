"""Training through defenses of updates: what is not sent does not learn, and what is sent is clipped and noisy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.defenses.none import NoDefense
from bench.defenses.on_updates import DpSgd, FrozenEmbeddings, HeadOnly, OnUpdates, Prune, TopLayers
from bench.encoders.transformers import Hub
from bench.errors import UsageError
from bench.plugins.training import Finetuned
from bench.training.finetune import Finetuning, Job
from bench.training.guarded import GuardedTrainer
from bench.training.judging import metrics_for
from bench.types import Examples
from tests.helpers.tiny_models import save_tiny, sentences

Bench = Callable[..., subprocess.CompletedProcess[str]]
OPTIONS = Finetuned(epochs=1, batch=8, dropout=0.0, rate=1e-3, optimizer="sgd")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny") / "bert")


def _run(model: Path, defense: object, options: Finetuned = OPTIONS, count: int = 40) -> Finetuning:
    train, dev = (Examples(*sentences(n, seed), ("no", "yes")) for n, seed in ((count, 0), (60, 1)))
    names = metrics_for(("accuracy",), train, dev)
    return Finetuning(Job(options, Hub(str(model)), train, dev, names, defense, "mine", None, 0, ("data",)), "cpu")


def _after(run: Finetuning, steps: int = 2) -> dict[str, torch.Tensor]:
    for number in range(steps):
        run.trainer.step([part[number] for part in run.trainer.batches(0)], number)
    return run.model.snapshot()


@pytest.mark.parametrize("inner", ["none", "texthide/m=4/k=2"])
def test_without_noise_and_bound_it_is_plain_training(model: Path, inner: str) -> None:
    bare = OnUpdates(of=inner).inner
    plain = _after(_run(model, bare))
    for guarded in (OnUpdates(of=inner), DpSgd(of=inner, noise=0.0, clip=1e6)):
        for name, value in _after(_run(model, guarded)).items():
            assert torch.allclose(value, plain[name], atol=1e-6), name


def test_what_is_not_sent_does_not_learn(model: Path) -> None:
    before = _run(model, NoDefense()).model.snapshot()
    for defense, learns in (
        (HeadOnly(), ("head",)),
        (TopLayers(n=1), ("head", "layer.2.")),
        (FrozenEmbeddings(), ("head", "layer.")),
        (DpSgd(of="head-only", noise=0.5), ("head",)),
    ):
        # Biases of keys have no gradient at all.
        moved = {name for name, value in _after(_run(model, defense)).items() if not torch.equal(value, before[name])}
        assert moved
        assert all(name.startswith(learns) for name in moved), defense
        assert all(any(name.startswith(start) for name in moved) for start in learns), defense


@pytest.mark.parametrize(
    ("inner", "changes", "in_one_pass"),
    [
        ("none", {}, True),
        ("none", {"layers": 2, "batch": 40}, True),
        ("none", {"head": "tanh-shared"}, False),
        ("none", {"head": "linear"}, True),
        ("none", {"clients": 2}, True),
        ("texthide/m=4/k=1", {}, True),
        ("mix-only/k=3", {}, False),
        ("head-only", {}, True),
        ("top-layers", {}, True),
        ("head-only/of=mix-only", {}, True),
    ],
)
def test_each_items_gradient_is_clipped(model: Path, inner: str, changes: dict[str, Any], in_one_pass: bool) -> None:
    """Beside gradients that are taken one by one out of the graph of all."""
    options = replace(OPTIONS, **changes)
    run = _run(model, DpSgd(of=inner, noise=0.0, clip=0.05), options)
    trainer = run.trainer
    assert isinstance(trainer, GuardedTrainer)
    assert trainer.in_one_pass == in_one_pass
    rows = {client: part[0] for client, part in enumerate(trainer.batches(0))}
    found = trainer.gradient(trainer.loss(rows, 0, reduction="none"))
    bare = OnUpdates(of=inner).inner
    while hasattr(bare, "inner"):
        bare = bare.inner
    other = _run(model, bare, options)
    other.trainer.words = trainer.words
    weights = [other.model.parameters()[name] for name in trainer.sent]
    losses, wanted = other.trainer.loss(rows, 0, reduction="none"), None
    for loss in losses:
        grads = torch.autograd.grad(loss, weights, retain_graph=True, materialize_grads=True)
        norm = torch.stack([grad.norm() for grad in grads]).norm()
        assert norm > 0.05  # the bound binds
        scaled = [grad * 0.05 / norm / len(losses) for grad in grads]
        wanted = scaled if wanted is None else [a + b for a, b in zip(wanted, scaled, strict=True)]
    assert wanted is not None
    for name, value in zip(trainer.sent, wanted, strict=True):
        assert torch.allclose(found[name], value, atol=1e-6), name


def test_an_encoder_that_does_not_learn_is_run_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _run(model, HeadOnly(), replace(OPTIONS, dropout=0.5, head="linear"))
    assert list(run.model.head) == ["head1.weight", "head1.bias"]
    rows = run.trainer.side.parts[0][:8]
    first = run.trainer.vectors(rows)
    wanted = run.model.encode(run.trainer.side.tokens, rows)
    np.testing.assert_allclose(first.detach(), wanted, rtol=1e-5, atol=1e-6)  # nothing is dropped, either
    monkeypatch.setattr(run.model, "encode", None)
    assert torch.equal(run.trainer.vectors(rows), first)


def test_noise_is_that_of_the_bound_and_epsilon_is_that_of_all_epochs(model: Path) -> None:
    run = _run(model, DpSgd(noise=3.0, clip=2.0), replace(OPTIONS, epochs=4))
    trainer = run.trainer
    assert isinstance(trainer, GuardedTrainer)
    quiet = {name: torch.zeros_like(value) for name, value in trainer.sent.items()}
    drawn = np.concatenate([value.numpy().ravel() for value in trainer.update(quiet, 8, 0).values()])
    assert drawn.std() == pytest.approx(3.0 * 2.0 / 8, rel=0.05)
    trainer.step([part[0] for part in trainer.batches(0)], 0)
    assert run.notes()["accounted"] == DpSgd(noise=3.0, rounds=4).notes()["accounted"]
    assert run.notes()["accounted"]["epsilon"] > DpSgd(noise=3.0).notes()["accounted"]["epsilon"]


def test_pruned_updates_teach_less_at_a_time(model: Path) -> None:
    start, plain, pruned = (_after(_run(model, one), 1) for one in (DpSgd(noise=0.0, clip=1e-9), NoDefense(), Prune()))
    changed = {
        word: np.mean([float((after[name] != start[name]).float().mean()) for name in plain if "weight" in name])
        for word, after in (("plain", plain), ("pruned", pruned))
    }
    assert 0 < changed["pruned"] < 0.3 * changed["plain"]


def test_several_local_steps_are_refused(model: Path) -> None:
    with pytest.raises(UsageError, match="leave out local_steps=2"):
        _run(model, DpSgd(), replace(OPTIONS, local_steps=2))


def test_a_frozen_encoder_is_refused_in_one_line(bench: Bench) -> None:
    done = bench("utility", "--defense", "dp-sgd:noise=2")
    assert done.returncode == 2
    assert "dp-sgd:noise=2.0 defends what an encoder learns: add --training finetuned" in done.stderr


def test_a_suite_with_a_frozen_encoder_is_refused_too(bench: Bench, tmp_path: Path) -> None:
    suite = tmp_path / "guarded.toml"
    suite.write_text('title = "mine"\ndefense = ["dp-sgd:noise=2"]\ndataset = ["demo"]\n')
    done = bench("utility", "--suite", str(suite), "--dry-run")
    assert done.returncode == 2
    assert 'defends what an encoder learns: add training = "finetuned" to its table' in done.stderr
