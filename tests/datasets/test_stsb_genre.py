"""The loader of sentences by where they come from, on small files with the real ones' oddities."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bench.errors import DataError
from bench.plugins.registry import Registry
from bench.types import Examples

HEAD = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
ROWS = [
    ("main-captions", "A plane takes off."),
    ("main-forum", "You should try both."),
    ("main-captions", "A plane takes off."),
    ("main-forums", "It depends."),
    ("main-news", "Shares fell."),
]


def _load(split: str) -> Examples:
    found: Examples = Registry().make("dataset", "stsb-genre").load(split)
    return found


def _write(folder: Path, rows: list[tuple[str, str]], dev: list[tuple[str, str]] = ROWS) -> None:
    target = folder / "glue" / "STS-B"
    target.mkdir(parents=True)
    for split, some in (("train", rows), ("dev", dev)):
        lines = [f"{i}\t{genre}\tf\t2012\t1\tn\tn\t{text}\tAnother.\t2.0\n" for i, (genre, text) in enumerate(some)]
        (target / f"{split}.tsv").write_text(HEAD + "".join(lines))


def test_both_spellings_of_a_genre_are_one_class_and_repeated_sentences_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, ROWS)
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    found = _load("train")
    assert found.classes == ("captions", "forums", "news")
    assert list(zip(found.texts, found.labels.tolist(), strict=True)) == [
        ("A plane takes off.", 0),
        ("You should try both.", 1),
        ("It depends.", 1),
        ("Shares fell.", 2),
    ]
    assert "Shares fell." in _load("public").texts


def test_dev_has_no_sentence_of_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, ROWS[:3], ROWS)
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    assert _load("dev").texts == ["It depends.", "Shares fell."]


def test_an_unknown_genre_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, [*ROWS, ("main-poems", "O wind.")])
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    with pytest.raises(DataError, match="'main-poems' is none of main-captions"):
        _load("train")


def test_the_hub_serves_where_no_folder_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_DATA_DIR", raising=False)
    asked = []
    splits = {"train.jsonl.gz": ROWS[:1], "validation.jsonl.gz": ROWS}

    def download(repository: str, name: str, repo_type: str, local_files_only: bool) -> str:
        asked.append((repository, name, repo_type))
        rows = [{"genre": genre, "sentence1": text, "sentence2": "x", "score": 1.0} for genre, text in splits[name]]
        with gzip.open(tmp_path / name, "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        return str(tmp_path / name)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert _load("dev").labels.tolist() == [1, 1, 2]
    assert asked[0] == ("mteb/stsbenchmark-sts", "validation.jsonl.gz", "dataset")
