"""The encoder that a training leaves: the base model's where nothing learnt, and a function of the text alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from bench.datasets.demo import Demo
from bench.encoders import packed
from bench.encoders.finetuned import FinetunedEncoder
from bench.encoders.packed import Architecture
from bench.encoders.transformers import Hub, MiniLM
from bench.errors import BenchError, UsageError
from bench.plugins.registry import Registry
from tests.helpers.tiny_models import save_tiny, sentences


def test_without_a_checkpoint_it_is_the_base_model(tmp_path: Path) -> None:
    folder, texts = save_tiny(tmp_path / "bert"), sentences(12)[0]
    found = FinetunedEncoder(str(folder), "").encode(texts)
    assert np.allclose(found, Hub(str(folder)).encode(texts), atol=1e-5)


def test_what_learnt_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    folder, texts = save_tiny(tmp_path / "bert"), sentences(12)[0]
    weights = packed.load(folder, Architecture.read(folder))
    learnt = weights["layer.2.norm2.weight"] * torch.linspace(0.5, 2.0, 24)
    save_file({"layer.2.norm2.weight": learnt}, tmp_path / "learnt.safetensors")
    base, trained = (
        FinetunedEncoder(str(folder), ""),
        FinetunedEncoder(str(folder), str(tmp_path / "learnt.safetensors")),
    )
    assert not np.allclose(base.encode(texts), trained.encode(texts), atol=1e-3)
    assert base.fingerprint != trained.fingerprint
    assert trained.vectors_folder == tmp_path / "vectors"


def test_a_vector_depends_on_its_text_alone() -> None:
    """Bit for bit: neither the order nor the company changes it."""
    texts = Demo().load("dev").texts[:70]
    encoder = FinetunedEncoder(str(MiniLM().folder), "")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        together = encoder.encode(texts)
        order = np.random.default_rng(0).permutation(len(texts))
        mixed = encoder.encode([texts[i] for i in order])
        apart = np.concatenate([encoder.encode(texts[:33]), encoder.encode(texts[33:])])
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(together[order], mixed)
    assert np.array_equal(together, apart)


def test_checkpoints_of_other_weights_are_one_line(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "bert")
    save_file({"layer.0.up.weight": torch.zeros(3, 3)}, tmp_path / "other.safetensors")
    with pytest.raises(BenchError, match="is of another model than"):
        FinetunedEncoder(str(folder), str(tmp_path / "other.safetensors")).encode(["the cat"])
    (tmp_path / "cut.safetensors").write_bytes(b"\0" * 5)
    with pytest.raises(BenchError, match="cannot be read"):
        FinetunedEncoder(str(folder), str(tmp_path / "cut.safetensors")).encode(["the cat"])


def test_the_pooler_is_asked_for_where_there_is_one(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "bert")
    pooled = FinetunedEncoder(str(folder), "", rep="pooler").encode(["the cat sings ."])
    assert np.abs(pooled).max() <= 1
    weights = {"embeddings.norm.weight": torch.ones(1)}
    with pytest.raises(UsageError, match="has no pooler"):
        packed.pooled(weights, torch.zeros(1, 24))


def test_nobody_names_it_on_the_command_line() -> None:
    assert "finetuned" not in Registry().of("encoder")
