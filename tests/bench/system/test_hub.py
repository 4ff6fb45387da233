"""The hub is asked in one place, and where it cannot be reached the user is told what else to do."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

from bench.errors import BenchError
from bench.system import hub


@pytest.fixture(autouse=True)
def _asked_afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    hub.offline.cache_clear()
    yield
    hub.offline.cache_clear()


def _resolving(monkeypatch: pytest.MonkeyPatch, works: bool) -> None:
    def look_up(*_: object) -> list[object]:
        if works:
            return []
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_one_file_of_a_data_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def download(*args: str, **more: str) -> str:
        asked.append((*args, more))
        return str(tmp_path / "file")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    _resolving(monkeypatch, True)
    assert hub.dataset_file("org/set", "a.parquet", what="set", otherwise="") == tmp_path / "file"
    assert asked == [("org/set", "a.parquet", {"repo_type": "dataset", "local_files_only": False})]


@pytest.mark.parametrize(("proxy", "only_cached"), [("", True), ("http://proxy.example:3128", False)])
def test_without_an_address_of_the_hub_only_its_cache_is_asked(
    monkeypatch: pytest.MonkeyPatch, proxy: str, only_cached: bool
) -> None:
    asked: list[Any] = []

    def download(*_: str, local_files_only: bool, **__: object) -> str:
        asked.append(local_files_only)
        raise LocalEntryNotFoundError("not in the cache")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    _resolving(monkeypatch, False)
    if proxy:
        monkeypatch.setenv("https_proxy", proxy)
    fetches: list[Callable[[], Path]] = [
        lambda: hub.dataset_file("org/set", "a.parquet", what="set", otherwise=""),
        lambda: hub.model_folder("org/model", ("*.json",), what="model", otherwise=""),
        lambda: hub.parquet_folder("org/set", what="set", otherwise=""),
    ]
    for fetch in fetches:
        with pytest.raises(BenchError, match="cannot fetch"):
            fetch()
    assert asked == [only_cached] * 3


def test_only_the_files_of_a_model_that_match(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []

    def download(*args: str, **more: list[str]) -> str:
        asked.append((*args, more))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    _resolving(monkeypatch, True)
    assert hub.model_folder("org/model", ("*.json",), what="model", otherwise="") == tmp_path
    assert asked == [("org/model", {"allow_patterns": ["*.json"], "local_files_only": False})]


@pytest.mark.parametrize("error", [LocalEntryNotFoundError("offline"), HFValidationError("name"), OSError("disk full")])
def test_a_failure_is_one_line_with_what_to_do(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def download(*_: str, **__: str) -> str:
        raise error

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(BenchError) as caught:
        hub.dataset_file("org/set", "a.parquet", what="set", otherwise="or use --dataset demo")
    text = f"cannot fetch set from the hub ({type(error).__name__}): connect to it, or use --dataset demo"
    assert str(caught.value) == text
