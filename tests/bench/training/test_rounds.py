"""A step of federated training learns what a plain loop learns, and clients have data and masks of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

from bench.defenses.none import NoDefense
from bench.defenses.texthide import TextHide
from bench.encoders.transformers import Hub
from bench.errors import BenchError, DataError, UsageError
from bench.plugins.training import Finetuned
from bench.training import clients
from bench.training.finetune import Finetuning, Job
from bench.training.judging import metrics_for
from bench.types import Examples, Key, Release
from tests.helpers.tiny_models import save_tiny, sentences

OPTIONS = Finetuned(epochs=1, batch=8, dropout=0.0, rate=1e-3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny") / "bert")


def _job(model: Path, options: Finetuned = OPTIONS, defense: object | None = None, count: int = 40) -> Job:
    train, dev = (Examples(*sentences(n, seed), ("no", "yes")) for n, seed in ((count, 0), (20, 1)))
    names = metrics_for(("accuracy",), train, dev)
    return Job(options, Hub(str(model)), train, dev, names, defense or NoDefense(), "a defense", None, 0, ("data",))


def _weights(run: Finetuning) -> dict[str, torch.Tensor]:
    return run.model.snapshot()


def test_clients_that_do_not_mix_learn_what_one_client_learns(model: Path) -> None:
    """The mean gradient of four clients is the gradient of one batch made of theirs."""
    four, one = Finetuning(_job(model, replace(OPTIONS, clients=4)), "cpu"), Finetuning(_job(model), "cpu")
    for number in range(3):
        batches = [part[number] for part in four.trainer.batches(0)]
        four.trainer.step(batches, number)
        one.trainer.step([np.concatenate(batches)], number)
    for name, value in _weights(four).items():
        assert torch.allclose(value, _weights(one)[name], atol=1e-6), name


def test_clients_that_mix_with_equal_pools_learn_what_one_client_learns(model: Path) -> None:
    """With one mask for all, and mixes that stay inside a client's batch, it does not matter who mixes them."""
    options = replace(OPTIONS, clients=4, batch=16)

    class Halves(TextHide):
        """Mixes in pools of four, in an order that does not depend on how many release together."""

        def release(self, vectors, labels, public, rng, epochs=1):  # type: ignore[no-untyped-def]
            n = len(vectors)
            members = np.stack([np.arange(n), np.arange(n).reshape(-1, 4)[:, ::-1].ravel()], axis=1)
            key = Key(np.arange(n), members, np.full((n, 2), 0.5, np.float32), np.zeros(n, np.int64), POOL)
            from bench.toolkit import mixing

            return Release(mixing.apply(vectors, key), mixing.mix(labels, members, key.weights)), key

    four = Finetuning(_job(model, options, Halves()), "cpu")
    one = Finetuning(_job(model, replace(options, clients=1), Halves()), "cpu")
    rows = [np.arange(at, at + 4) for at in range(0, 16, 4)]
    for number in range(2):
        four.trainer.step(rows, number)
        one.trainer.step([np.concatenate(rows)], number)
    for name, value in _weights(four).items():
        assert torch.allclose(value, _weights(one)[name], atol=1e-6), name


# Four times the same mask: each of four clients gets one of them.
POOL = np.repeat(np.random.default_rng(0).choice(np.array([-1, 1], np.int8), (1, 24)), 4, axis=0)


def test_loss_curve_is_that_of_a_plain_loop(model: Path) -> None:
    """Transformers' own model, torch's own head and optimiser, one batch after the other."""
    run = Finetuning(_job(model), "cpu")
    network = AutoModel.from_pretrained(model).train()
    for part in network.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    head = {name: value.detach().clone().requires_grad_() for name, value in run.model.head.items()}
    learning = [value for name, value in network.named_parameters() if not name.startswith("pooler.")]
    optimizer = torch.optim.AdamW(
        [{"params": learning, "rate": 1e-3}, {"params": list(head.values()), "rate": 1e-3}], lr=0.0, weight_decay=0.0
    )
    tokenizer, job = Hub(str(model)), run.job
    total, ours, theirs = run.trainer.total, [], []
    for number, rows in enumerate(run.trainer.batches(0)[0]):
        ours.append(run.trainer.step([rows], number))
        batch = tokenizer._loaded[1]([job.train.texts[i] for i in rows], padding=True, return_tensors="pt")  # noqa: SLF001
        x = network(**batch).last_hidden_state[:, 0]
        for i in range(1, 5):
            x = torch.nn.functional.linear(x, head[f"head{i}.weight"], head[f"head{i}.bias"])
            x = x.relu() if i < 4 else x
        loss = torch.nn.functional.cross_entropy(x, torch.as_tensor(job.train.labels[rows]))
        factor = min(1.0, (number + 1) / max(1, int(0.1 * total)), (total - number) / max(1, total - 1))
        for group in optimizer.param_groups:
            group["lr"] = group["rate"] * factor
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*learning, *head.values()], 1.0)
        optimizer.step()
        theirs.append(float(loss.detach()))
    assert np.allclose(ours, theirs, atol=1e-5)
    assert len(ours) == 5


def test_frozen_lower_layers_are_computed_once_and_change_nothing(model: Path) -> None:
    run = Finetuning(_job(model, replace(OPTIONS, layers=1)), "cpu")
    before = {name: value.clone() for name, value in run.model.weights.items()}
    rows = np.arange(8)
    first = run.model.vectors(run.tokens, rows).detach()
    assert torch.equal(first, run.model.vectors(run.tokens, rows).detach())
    run.trainer.step([rows], 0)
    changed = {name for name, value in run.model.weights.items() if not torch.equal(value, before[name])}
    assert changed
    assert all(name.startswith("layer.2.") for name in changed)
    assert not torch.equal(first, run.model.vectors(run.tokens, rows).detach())


def test_clients_have_masks_of_their_own(model: Path) -> None:
    run = Finetuning(_job(model, replace(OPTIONS, clients=2), TextHide(m=6, k=2)), "cpu")
    pools = [masks.pool for masks in run.trainer.masks]
    assert [len(pool) for pool in pools] == [3, 3]
    assert np.array_equal(np.concatenate(pools), run.trainer.side.masks.pool)
    assert not set(run.trainer.side.parts[0]) & set(run.trainer.side.parts[1])


def test_the_pool_lasts_from_step_to_step(model: Path) -> None:
    """A defense draws a pool in every release; in training there is one for all of them."""
    run = Finetuning(_job(model, defense=TextHide(m=2, k=1)), "cpu")
    seen = set()
    for number in range(6):
        vectors = torch.ones((4, 24), requires_grad=True)
        rng = np.random.default_rng(number)
        labels = np.zeros((4, 2), np.float32)
        masks = run.trainer.masks[0]
        encodings, *_ = clients.release(run.job.defense, "texthide", vectors, labels, masks, None, rng)
        seen |= {tuple(row) for row in encodings.detach().numpy().tolist()}
    assert len(seen) == 2


def test_averaging_weights_of_one_client_is_local_training(model: Path) -> None:
    options = replace(OPTIONS, local_steps=2, optimizer="sgd", rate=0.05, head_rate=0.05)
    local, plain = (
        Finetuning(_job(model, options), "cpu"),
        Finetuning(_job(model, replace(options, local_steps=1)), "cpu"),
    )
    rows = [np.arange(8), np.arange(8, 16)]
    local.trainer.round([rows], 0)
    for number, some in enumerate(rows):
        plain.trainer.step([some], number)
    for name, value in _weights(local).items():
        assert torch.allclose(value, _weights(plain)[name], atol=1e-6), name


class Numbers:
    """A defense that knows NumPy only."""

    def release(self, vectors, labels, public, rng, epochs=1):  # type: ignore[no-untyped-def]
        vectors = np.asarray(vectors, dtype=np.float32)
        rows = np.arange(len(vectors))
        return Release(vectors, labels), Key(rows, rows[:, None], np.ones((len(rows), 1), np.float32))


def test_a_defense_without_gradients_is_told_so(model: Path) -> None:
    run = Finetuning(_job(model, defense=Numbers()), "cpu")
    with pytest.raises(UsageError, match="'a defense' cannot be trained through: release must answer a torch tensor"):
        run.trainer.step([np.arange(8)], 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clients": 7, "examples": 6, "batch": 8}, "7 clients are more than 5 training examples"),
        ({"layers": 4}, "layers=4: the encoder has 3; 0 trains all of it"),
        ({"examples": 41}, "examples=41: the train split has 40; 0 takes all of them"),
        ({"examples": 1}, "at least 2 are needed"),
    ],
)
def test_options_that_do_not_fit_are_one_line(model: Path, options: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Finetuning(_job(model, replace(OPTIONS, **options)), "cpu")


def test_one_class_in_a_clients_share_is_one_line() -> None:
    data = Examples(["a", "b", "c", "d"], [0, 0, 0, 1], ("no", "yes"))
    with pytest.raises(DataError, match=r"client \d of 2 holds examples of one class only"):
        clients.shares(data, np.arange(4), 2, np.random.default_rng(0))


def test_fewer_masks_than_clients_are_one_line(model: Path) -> None:
    with pytest.raises(UsageError, match="2 masks cannot be shared by 4 clients"):
        Finetuning(_job(model, replace(OPTIONS, clients=4), TextHide(m=2, k=1)), "cpu")


def test_an_encoder_without_weights_is_one_line(model: Path) -> None:
    with pytest.raises(BenchError, match="no folder of weights"):
        Finetuning(replace(_job(model), encoder=object()), "cpu")
