from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from bench.errors import DataError, UsageError
from bench.plugins.registry import Registry


def test_sentences_come_from_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "imdb-sentences.txt.gz").write_bytes(gzip.compress(b"one\ntwo\none\nthree\n"))
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    assert Registry().make("dataset", "imdb").load("public").texts == ["one", "two", "three"]
    assert Registry().make("dataset", "imdb:limit=2").load("public").texts == ["one", "two"]
    with pytest.raises(DataError, match="use it as a public corpus"):
        Registry().make("dataset", "imdb").load("train")
    with pytest.raises(UsageError, match="at least 2"):
        Registry().make("dataset", "imdb:limit=1")


def test_or_from_the_hub_where_reviews_are_cut_into_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_DATA_DIR", raising=False)
    path = tmp_path / "t.parquet"
    pd.DataFrame({"text": ["A fine film it was.<br />I liked it a lot! No."], "label": [-1]}).to_parquet(path)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_, **__: str(path))
    assert Registry().make("dataset", "imdb").load("public").texts == ["A fine film it was.", "I liked it a lot!"]
