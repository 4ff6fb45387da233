"""Packed tokens compute what transformers computes, values and gradients, for every family that can be trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from bench.encoders import packed
from bench.encoders.packed import Architecture
from bench.errors import BenchError, UsageError
from tests.helpers.tiny_models import save_tiny, sentences

FAMILIES = ("bert", "roberta", "mpnet")


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / request.param, request.param)


def _batches(folder: Path, texts: list[str]) -> tuple[packed.Batch, dict[str, torch.Tensor]]:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    plain = tokenizer(texts)
    padded = tokenizer(texts, padding=True, return_tensors="pt")
    if "token_type_ids" in padded and json.loads((folder / "config.json").read_text())["model_type"] != "bert":
        padded.pop("token_type_ids")
        return packed.pack(plain["input_ids"], None), dict(padded)
    return packed.pack(plain["input_ids"], plain.get("token_type_ids")), dict(padded)


@pytest.mark.parametrize("first_only", [True, False])
def test_forward_is_that_of_transformers(folder: Path, first_only: bool) -> None:
    texts = sentences(9)[0]
    batch, padded = _batches(folder, texts)
    architecture = Architecture.read(folder)
    weights = packed.load(folder, architecture)
    with torch.no_grad():
        expected = AutoModel.from_pretrained(folder).eval()(**padded).last_hidden_state[:, 0]
        hidden = packed.embed(weights, batch, architecture)
        found = packed.layers(weights, hidden, batch, architecture, range(3), first_only=first_only)
    found = found if first_only else found[batch.first]
    assert torch.allclose(found, expected, atol=1e-5)


def test_gradients_are_those_of_transformers(folder: Path) -> None:
    batch, padded = _batches(folder, sentences(6)[0])
    architecture = Architecture.read(folder)
    weights = {name: value.requires_grad_() for name, value in packed.load(folder, architecture).items()}
    network = AutoModel.from_pretrained(folder).eval()
    aim = torch.linspace(-1, 1, 24)
    (network(**padded).last_hidden_state[:, 0] @ aim).pow(2).mean().backward()
    hidden = packed.embed(weights, batch, architecture)
    first = packed.layers(weights, hidden, batch, architecture, range(3), first_only=True)
    (first @ aim).pow(2).mean().backward()
    up = [value.grad for name, value in network.named_parameters() if name.endswith("0.intermediate.dense.weight")]
    word = [value.grad for name, value in network.named_parameters() if name.endswith("word_embeddings.weight")]
    assert torch.allclose(weights["layer.0.up.weight"].grad, up[0], atol=1e-6)
    # transformers gives the padding token no gradient, and a packed batch holds no padding.
    assert torch.allclose(weights["embeddings.word"].grad, word[0], atol=1e-6)


def test_texts_of_one_length_need_no_mask(folder: Path) -> None:
    batch, padded = _batches(folder, ["the cat sings .", "a dog sleeps !"])
    architecture = Architecture.read(folder)
    weights = packed.load(folder, architecture)
    assert batch.mask is None
    with torch.no_grad():
        expected = AutoModel.from_pretrained(folder).eval()(**padded).last_hidden_state[:, 0]
        hidden = packed.embed(weights, batch, architecture)
        found = packed.layers(weights, hidden, batch, architecture, range(3), first_only=True)
    assert torch.allclose(found, expected, atol=1e-5)


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"know the families bert, .* distil is distilbert"):
        Architecture.read(save_tiny(tmp_path / "distil", "distilbert"))
    other = save_tiny(tmp_path / "relu", "bert", hidden_act="relu")
    with pytest.raises(UsageError, match="know gelu and absolute positions"):
        Architecture.read(other)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="no transformer"):
        Architecture.read(tmp_path)


def test_damaged_weights_are_one_line(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "cut")
    architecture = Architecture.read(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    with pytest.raises(BenchError, match="cannot be read"):
        packed.load(folder, architecture)
    weights.unlink()
    with pytest.raises(BenchError, match="holds no weights"):
        packed.load(folder, architecture)
