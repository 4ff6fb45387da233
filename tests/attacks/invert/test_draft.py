"""The encoder in half precision agrees with the encoder, or is not used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bench.attacks.invert import draft as drafts
from bench.encoders.finetuned import FinetunedEncoder
from bench.encoders.transformers import Hub
from tests.helpers.tiny_models import save_tiny, sentences

TEXTS = list(dict.fromkeys(sentences(40)[0]))


@pytest.fixture(autouse=True)
def _any_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "_fast", lambda: True)


@pytest.fixture(scope="module", params=["bert", "roberta", "mpnet"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / request.param, request.param)


def test_it_is_the_encoder_but_for_rounding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for encoder in (Hub(str(folder)), FinetunedEncoder(str(folder), "")):
        vectors = encoder.encode(TEXTS)
        monkeypatch.setattr(drafts, "PRECISION", "float32")
        found = drafts.draft(encoder, TEXTS, vectors, vectors.std(axis=0))
        assert found is not None
        assert np.abs(found.encode(TEXTS) - vectors).max() < 1e-5
        # Vectors of this random model differ in the third digit, which half precision has not: it is not used.
        monkeypatch.setattr(drafts, "PRECISION", "bfloat16")
        assert drafts.draft(encoder, TEXTS, vectors, vectors.std(axis=0)) is None


def test_a_vector_depends_on_its_text_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Hub(str(folder))
    vectors = encoder.encode(TEXTS)
    monkeypatch.setattr(drafts, "AGREES", -1.0)
    found = drafts.draft(encoder, TEXTS, vectors, vectors.std(axis=0))
    assert found is not None
    assert np.array_equal(found.encode(TEXTS[3:5])[1], found.encode(TEXTS)[4])


def test_without_weights_or_with_others_there_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mean = Hub(str(folder), pooling="mean")
    vectors = mean.encode(TEXTS)
    spread = vectors.std(axis=0)
    assert drafts.draft(mean, TEXTS, vectors, spread) is None  # [CLS] is not what it gives

    @dataclass
    class Called:
        folder: Path | str | None

    assert drafts.draft(Called(None), TEXTS, vectors, spread) is None
    assert drafts.draft(Called(folder / "nothing"), TEXTS, vectors, spread) is None
    monkeypatch.setattr(drafts, "_fast", lambda: False)
    encoder = Hub(str(folder))
    vectors = encoder.encode(TEXTS)
    assert drafts.draft(encoder, TEXTS, vectors, vectors.std(axis=0)) is None


def test_a_checkpoint_that_cannot_be_read_is_no_draft(folder: Path, tmp_path: Path) -> None:
    encoder = FinetunedEncoder(str(folder), "")
    vectors = encoder.encode(TEXTS)
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"no weights")

    @dataclass
    class Learnt:
        folder: Path
        checkpoint: str

    assert drafts.draft(Learnt(folder, str(broken)), TEXTS, vectors, vectors.std(axis=0)) is None
