"""The hub is asked in one place, and where it cannot be reached the user is told what else to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

from bench.errors import BenchError
from bench.system import hub


def test_one_file_of_a_data_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def download(*args: str, **more: str) -> str:
        asked.append((*args, more))
        return str(tmp_path / "file")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert hub.dataset_file("org/set", "a.parquet", what="set", otherwise="") == tmp_path / "file"
    assert asked == [("org/set", "a.parquet", {"repo_type": "dataset"})]


def test_only_the_files_of_a_model_that_match(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def download(*args: str, **more: list[str]) -> str:
        asked.append((*args, more))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert hub.model_folder("org/model", ("*.json",), what="model", otherwise="") == tmp_path
    assert asked == [("org/model", {"allow_patterns": ["*.json"]})]


@pytest.mark.parametrize("error", [LocalEntryNotFoundError("offline"), HFValidationError("name"), OSError("disk full")])
def test_a_failure_is_one_line_with_what_to_do(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def download(*_: str, **__: str) -> str:
        raise error

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(BenchError) as caught:
        hub.dataset_file("org/set", "a.parquet", what="set", otherwise="or use --dataset demo")
    text = f"cannot fetch set from the hub ({type(error).__name__}): connect to it, or use --dataset demo"
    assert str(caught.value) == text
