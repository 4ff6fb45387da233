"""Where weights are looked for, in which order, and what tells two models apart. No model is loaded, none fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.encoders import weights
from bench.errors import BenchError
from bench.system import hub
from bench.system.files import digest

MODEL = "sentence-transformers/all-MiniLM-L6-v2"


def make_model(folder: Path, content: bytes = b"weights") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(content)
    return folder


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "models"


@pytest.fixture
def offline(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `offline` extra, installed before any other, with weights that count as the published ones."""
    package = tmp_path / "site" / weights.OFFLINE_PACKAGE
    folder = make_model(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('its code must not be imported')")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(weights, "OFFLINE_SHA256", digest(folder / "model.safetensors"))
    return folder


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the hub is asked for."""
    found: list[str] = []

    def fetch(repository: str, patterns: list[str], **words: str) -> Path:
        assert "*.safetensors" in patterns
        found.append(repository)
        return tmp_path / "hub"

    monkeypatch.setattr(hub, "model_folder", fetch)
    return found


def test_the_models_folder_then_the_extra_then_the_hub(
    tmp_path: Path, models: Path, offline: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nested, plain = make_model(models / MODEL), make_model(models / "all-MiniLM-L6-v2")
    assert weights.find(MODEL) == nested
    (nested / "config.json").unlink()  # a folder without a configuration is no model
    assert weights.find(MODEL) == plain
    (plain / "config.json").unlink()
    assert weights.find(MODEL) == offline
    monkeypatch.delenv("BENCH_MODELS_DIR")
    assert weights.find(MODEL) == offline
    assert asked == []
    (offline / "model.safetensors").unlink()
    assert weights.find(MODEL) == tmp_path / "hub"
    assert asked == [MODEL]


def test_the_extra_stands_for_its_own_model_only(tmp_path: Path, offline: Path, asked: list[str]) -> None:
    assert weights.find("all-MiniLM-L6-v2/") == offline
    assert weights.find("org/other") == tmp_path / "hub"
    assert asked == ["org/other"]


def test_a_folder_that_is_named_comes_first(tmp_path: Path, models: Path, asked: list[str]) -> None:
    make_model(models / "mine")
    here = make_model(tmp_path / "mine")
    assert weights.find("mine") == here  # of the current folder; absolute, whatever was said
    assert weights.find(str(here)) == here
    assert asked == []


@pytest.mark.parametrize(("model", "extra"), [(MODEL, True), ("org/other", False)])
def test_no_weights_anywhere_says_what_to_do(
    models: Path, offline: Path, monkeypatch: pytest.MonkeyPatch, model: str, extra: bool
) -> None:
    def unreachable(*args: Any, **kwargs: Any) -> str:
        raise OSError("no route\nto host")

    (offline / "model.safetensors").unlink()
    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(BenchError) as error:
        weights.find(model)
    said = str(error.value)
    assert said.startswith(f"cannot fetch the weights of {model} from the hub (OSError)")
    assert f"BENCH_MODELS_DIR to a folder that holds {model.split('/')[1]}/" in said
    assert ("hideseek[offline]" in said) == extra
    assert "\n" not in said


def test_the_extra_with_other_weights_is_refused(offline: Path) -> None:
    (offline / "model.safetensors").write_bytes(b"tampered")
    with pytest.raises(BenchError, match=r"is not the published all-MiniLM-L6-v2: reinstall it with pip"):
        weights.find(MODEL)


def test_a_fingerprint_is_of_the_content(tmp_path: Path, models: Path) -> None:
    first, copy = make_model(tmp_path / "a"), make_model(tmp_path / "b")
    before = weights.fingerprint(first)
    assert weights.fingerprint(copy) == before
    (copy / "README.md").write_text("not part of the model")
    assert weights.fingerprint(copy) == before
    (copy / "pytorch_model.bin").write_bytes(b"the same model again, which nothing loads")
    assert weights.fingerprint(copy) == before
    assert len(before) == 16


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", "other weights"),
        ("config.json", '{"layers": 2}'),
        ("vocab.txt", "a\nb"),
        ("spiece.model", "pieces"),
        ("tokenizer.json", "{}"),
    ],
)
def test_every_file_that_matters_changes_the_fingerprint(tmp_path: Path, models: Path, name: str, content: str) -> None:
    folder = make_model(tmp_path / "a")
    before = weights.fingerprint(folder)
    (folder / name).write_text(content)
    assert weights.fingerprint(folder) != before


def test_weights_in_the_old_format_count_where_there_are_no_others(tmp_path: Path, models: Path) -> None:
    folder = make_model(tmp_path / "a")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    before = weights.fingerprint(folder)
    (folder / "pytorch_model.bin").write_bytes(b"other weights")
    assert weights.fingerprint(folder) != before
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(BenchError, match=r"holds no weights \(\*\.safetensors or \*\.bin\)"):
        weights.fingerprint(folder)
