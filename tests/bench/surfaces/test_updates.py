"""An update is the gradient of the defended loss over a batch, or what local steps changed; and only what is declared
of it is laid out."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.encoders import wordpieces
from bench.errors import UsageError
from bench.experiment import identity
from bench.plugins.registry import Registry
from bench.surfaces.updates import TrainingClient
from bench.training.updates import shared
from tests.helpers.cli import load_records
from tests.helpers.rounds import round_cell, scene_and_view

Bench = Callable[..., subprocess.CompletedProcess[str]]


def _gradient_by_transformers(cell: Any, found: Any, name: str) -> np.ndarray:
    """The same through transformers' own model: the mean loss over the first batch, without a defense."""
    from transformers import AutoModel, AutoTokenizer

    folder = cell.encoder.plugin.folder
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    model.eval()
    private = found.truth.private
    tokens = tokenizer(private.texts[:4], return_tensors="pt", padding=True)
    x = model(**tokens).last_hidden_state[:, 0]
    head = found.client.round.model.head
    for i in range(1, 4):
        x = torch.nn.functional.linear(x, head[f"head{i}.weight"], head[f"head{i}.bias"]).relu()
    out = torch.nn.functional.linear(x, head["head4.weight"], head["head4.bias"])
    torch.nn.functional.cross_entropy(out, torch.as_tensor(private.targets()[:4])).backward()
    found_grad: np.ndarray = dict(model.named_parameters())[name].grad.numpy()
    return found_grad


def test_it_is_the_gradient_of_the_mean_loss(tmp_path: Path) -> None:
    cell = round_cell(tmp_path)
    found, seen = scene_and_view(cell, tmp_path / "view")
    update = seen.updates[0]
    for ours, theirs in (
        ("layer.0.down.weight", "encoder.layer.0.output.dense.weight"),
        ("embeddings.word", "embeddings.word_embeddings.weight"),
    ):
        expected = _gradient_by_transformers(cell, found, theirs)
        assert np.abs(update[ours] - expected).max() < 1e-5 * np.abs(expected).max()


def test_a_view_holds_what_is_declared_and_nothing_else(tmp_path: Path) -> None:
    _, seen = scene_and_view(round_cell(tmp_path, attack="token-rows"), tmp_path / "view")
    assert set(seen.updates[1]) == {"embeddings.word", "embeddings.position"}
    rows, values = seen.updates[1].rows("embeddings.word")
    stored = np.load(tmp_path / "view" / "updates" / "1" / "embeddings.word.npy")
    assert stored.shape == values.shape == (len(rows), 24)  # rows that are zero take no room
    assert len(seen.updates) == 2
    assert (seen.updates.batch, seen.updates.max_length) == (4, 40)
    with pytest.raises(IndexError):
        seen.updates[2]


@pytest.mark.parametrize("defense", ["mix-only:k=2", "texthide:m=4,k=2", "texthide:m=inf,k=3", "dp-ie-gaussian:k=2"])
def test_defenses_change_the_update_and_not_the_span(tmp_path: Path, defense: str) -> None:
    _, plain = scene_and_view(round_cell(tmp_path), tmp_path / "plain")
    _, seen = scene_and_view(round_cell(tmp_path, defense=defense), tmp_path / "view")
    one, two = (view.updates[0]["layer.2.down.weight"].astype(np.float64) for view in (plain, seen))
    assert not np.allclose(one, two, rtol=0.1)
    for some in (one, two):
        assert np.linalg.matrix_rank(some, tol=1e-5 * np.linalg.norm(some)) == 4
    both = np.concatenate([one / np.linalg.norm(one), two / np.linalg.norm(two)])
    assert np.linalg.matrix_rank(both, tol=1e-4) == 4


def test_public_sentences_are_part_of_an_update(tmp_path: Path) -> None:
    cell = round_cell(tmp_path, defense="texthide-inter:public=demo", attack="token-rows")
    found, seen = scene_and_view(cell, tmp_path / "view")
    strangers = found.truth.batches.strangers[0]  # type: ignore[attr-defined]
    assert len(strangers) == 4
    rows, _ = seen.updates[0].rows("embeddings.word")
    private = {token for ids in found.truth.batches.tokens[:4] for token in ids}  # type: ignore[attr-defined]
    assert private <= set(rows.tolist()) <= private | {token for ids in strangers for token in ids}


def test_local_steps_send_a_difference_of_weights(tmp_path: Path) -> None:
    _, gradient = scene_and_view(round_cell(tmp_path), tmp_path / "gradient")
    found, seen = scene_and_view(round_cell(tmp_path, update="steps=2,rate=0.001"), tmp_path / "view")
    assert seen.updates.difference
    assert not gradient.updates.difference
    one, two = gradient.updates[0]["layer.0.down.weight"], seen.updates[0]["layer.0.down.weight"]
    # Two small steps on a half each: the sum of two gradients, twice their mean.
    assert np.linalg.norm(two / 0.001 - 2 * one) < 0.15 * np.linalg.norm(2 * one)
    client = found.client
    assert isinstance(client, TrainingClient)
    again = next(iter(client.round.updates(["layer.0.down.weight"])))["layer.0.down.weight"]
    assert np.array_equal(two, again)  # the weights are where they were


def test_precision_and_dropout(tmp_path: Path) -> None:
    _, plain = scene_and_view(round_cell(tmp_path), tmp_path / "plain")
    _, half = scene_and_view(round_cell(tmp_path, update="precision=bf16"), tmp_path / "half")
    _, dropped = scene_and_view(round_cell(tmp_path, update="dropout=0.3"), tmp_path / "dropped")
    one, two, three = (v.updates[0]["layer.0.down.weight"] for v in (plain, half, dropped))
    assert 0 < np.abs(one - two).max() <= np.abs(one).max() / 256
    assert not np.allclose(one, three, rtol=0.1)
    assert (
        plain.updates[0].rows("embeddings.word")[0].tolist() == dropped.updates[0].rows("embeddings.word")[0].tolist()
    )


@pytest.mark.parametrize(
    ("share", "sent", "kept"),
    [
        ("encoder", "embeddings.word", "head1.weight"),
        ("layers", "layer.0.down.weight", "embeddings.word"),
        ("top:1", "layer.2.down.weight", "layer.1.down.weight"),
        ("head", "head1.weight", "layer.2.down.weight"),
    ],
)
def test_what_is_shared(tmp_path: Path, share: str, sent: str, kept: str) -> None:
    found, _ = scene_and_view(round_cell(tmp_path, update=f"share={share}"), tmp_path / "view")
    assert isinstance(found.client, TrainingClient)
    names = found.client.round.shapes()
    assert sent in names
    assert kept not in names


def test_more_top_layers_than_there_are(tmp_path: Path) -> None:
    cell = round_cell(tmp_path)
    found, _ = scene_and_view(cell, tmp_path / "view")
    assert isinstance(found.client, TrainingClient)
    with pytest.raises(UsageError, match=r"the encoder has 3 layers; take share=layers"):
        shared(found.client.round.architecture, ["layer.0.down.weight"], "top:4")


def test_a_record_names_batch_and_update_and_can_be_asked_again(tmp_path: Path) -> None:
    cell = round_cell(tmp_path, update="dropout=0.1,share=top:2")
    record = identity.describe(cell)
    assert (record.protocol.batch, record.protocol.update) == (4, "share=top:2,dropout=0.1")
    again = identity.cell_of(Registry(), record)
    assert identity.describe(again).id == record.id
    assert identity.describe(round_cell(tmp_path)).id != record.id


def test_the_sentences_are_the_same_whatever_an_update_is_made_of(tmp_path: Path) -> None:
    one, _ = scene_and_view(round_cell(tmp_path), tmp_path / "one")
    two, _ = scene_and_view(round_cell(tmp_path, batch=2, update="dropout=0.1"), tmp_path / "two")
    assert one.truth.private.texts == two.truth.private.texts


@pytest.mark.slow
def test_a_finetuned_encoder_sends_what_learns(bench: Bench, tmp_path: Path) -> None:
    cell = round_cell(tmp_path)
    data, model = cell.dataset.label, cell.encoder.plugin.folder
    command = ["--attack", "span", "--defense", "texthide:m=4,k=2", "--dataset", data, "--encoder", f"hub:{model}"]
    sizes = ["--examples", "8", "--batch", "4", "--out", str(tmp_path / "out")]
    run = bench("run", *command, *sizes, "--training", "finetuned:epochs=1,batch=8,layers=2,rate=0.002")
    assert run.returncode == 0, run.stderr
    (record,) = load_records(tmp_path / "out").values()
    assert record["metrics"]["exact"]["value"] == 1.0
    assert list(record["details"]["ranks"][0]) == ["1", "2"]
    assert record["utility"]["metrics"]


def test_a_corpus_is_tokenized_in_blocks_as_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, seen = scene_and_view(round_cell(tmp_path, attack="span"), tmp_path / "view")
    texts = ["the cat sat", "a", "the dog\tran away", "", "the mat"]
    whole = seen.updates.tokenizer(texts)
    monkeypatch.setattr(wordpieces, "BLOCK", 2)
    assert seen.updates.tokenizer(texts) == whole
    assert [len(ids) for ids in whole[0]] == [len(types) for types in whole[1]]
    assert len(whole[0]) == len(texts)
