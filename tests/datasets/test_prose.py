"""The public corpus of short sentences, and the single sentences of STS-B that stand for private ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bench.errors import DataError, UsageError
from bench.plugins.registry import Registry

STSB = (
    "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
    "0\ta\tb\tc\td\te\tf\tA plane.\tAn air plane.\t4.750\n"
    "1\ta\tb\tc\td\te\tf\tA plane.\tA man.\t0.500\n"
    "2\ta\tb\tc\td\te\tf\tA dog runs.\tA cat.\t1.000\n"
)


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "public").mkdir()
    reviews = ["A fine film.", " ".join(["long"] * 15), "Rights are nice", "Not bad."]
    (tmp_path / "public" / "imdb-sentences.txt.gz").write_bytes(gzip.compress("\n".join(reviews).encode()))
    (tmp_path / "glue" / "MNLI").mkdir(parents=True)
    rows = "index\tsentence1\tsentence2\tgold_label\n0\tRights are nice\tGood\tneutral\n"
    (tmp_path / "glue" / "MNLI" / "train.tsv").write_text(rows)
    (tmp_path / "glue" / "STS-B").mkdir()
    (tmp_path / "glue" / "STS-B" / "train.tsv").write_text(STSB)
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))


def test_prose_has_short_sentences_of_both_kinds_once() -> None:
    found = Registry().make("dataset", "prose").load("public").texts
    assert found == ["A fine film.", "Rights are nice", "Not bad.", "Good"]
    assert Registry().make("dataset", "prose:reviews=1").load("public").texts == [
        "A fine film.",
        "Rights are nice",
        "Good",
    ]
    assert Registry().make("dataset", "prose:words=2").load("public").texts == ["Not bad.", "Good"]
    with pytest.raises(DataError, match="use it as a public corpus"):
        Registry().make("dataset", "prose").load("train")
    with pytest.raises(UsageError, match="at least 1"):
        Registry().make("dataset", "prose:words=0")


def test_sentences_of_stsb_are_single_and_distinct() -> None:
    found = Registry().make("dataset", "stsb-sentences").load("train")
    assert found.texts == ["A plane.", "A dog runs."]
    assert found.labels.tolist() == [4.75, 1.0]
    with pytest.raises(DataError, match="no split 'public'"):
        Registry().make("dataset", "stsb-sentences").load("public")
