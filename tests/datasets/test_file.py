from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from bench import Examples
from bench.errors import DataError, UsageError
from bench.plugins.registry import Registry

TABLE = pd.DataFrame(
    {"review": ["good one", "bad one", "so so"], "stars": ["high", "low", "low"], "n": [1.5, 2.0, 3.5]}
)


def load(spec: str, split: str = "train") -> Examples:
    examples: Examples = Registry().make("dataset", spec).load(split)
    return examples


def save(path: Path) -> Path:
    if path.suffix == ".csv":
        TABLE.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        TABLE.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".jsonl":
        TABLE.to_json(path, orient="records", lines=True)
    else:
        TABLE.to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_every_format_gives_the_same_examples(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path / f"mine{suffix}")
    found = load(f"file:{path},text=review,label=stars")
    assert found.texts == ["good one", "bad one", "so so"]
    assert found.classes == ("high", "low")
    assert found.labels.tolist() == [0, 1, 1]


def test_none_and_na_are_words_like_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\nNone,NA\nnull,n/a\n")
    assert load(f"file:{tmp_path / 'a.csv'}").texts == ["None", "null"]


def test_usual_column_names_need_not_be_said_and_scores_are_a_regression(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [{"sentence1": f"a {i}", "sentence2": "b\tb", "score": i / 2} for i in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = load(f"file:{path}")
    assert found.texts[0] == "a 0\tb b"
    assert found.classes == ()
    assert found.labels.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("name", "content", "spec", "said"),
    [
        ("a.csv", b"", "", "is empty"),
        ("a.csv", b"text,label\nx,1\n", "", "holds 1 examples: at least 2"),
        ("a.csv", b"text,label\n", "", "holds 0 examples"),
        ("a.csv", b"text,mark\nx,1\ny,2\n", "", "has no label column; say which it is with label=NAME"),
        ("a.csv", b"words,label\nx,1\ny,2\n", "", "has no text column"),
        ("a.csv", b"text,label\nx,1\ny,2\n", ",label=stars", "has no column 'stars'; it has text, label"),
        ("a.csv", b"text,label\ncaf\xe9,1\ny,2\n", "", "not UTF-8"),
        ("a.csv", b"text,label\nx,1\n,2\n", "", "some rows have no text"),
        ("a.csv", b"text,label\nx,1\ny,\n", "", "labels are missing"),
        ("a.jsonl", b"{half", "", "cannot be read as jsonl"),
        ("a.parquet", b"not parquet", "", "cannot be read as parquet"),
    ],
)
def test_bad_files_are_explained(tmp_path: Path, name: str, content: bytes, spec: str, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said) as error:
        load(f"file:{tmp_path / name}{spec}")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_of_another_kind_is_explained(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load(f"file:{tmp_path / 'gone.csv'}")
    (tmp_path / "a.xls").write_text("x")
    with pytest.raises(UsageError, match=r"must end in \.tsv"):
        load(f"file:{tmp_path / 'a.xls'}")
    with pytest.raises(UsageError, match="needs path"):
        load("file")


def test_other_splits_are_siblings(tmp_path: Path) -> None:
    save(tmp_path / "train.csv")
    save(tmp_path / "dev.csv")
    assert len(load(f"file:{tmp_path / 'train.csv'},text=review,label=stars", "dev")) == 3
    (tmp_path / "dev.csv").unlink()
    with pytest.raises(DataError, match="has no dev split: put it at"):
        load(f"file:{tmp_path / 'train.csv'},text=review,label=stars", "dev")


def test_as_a_public_corpus_a_file_needs_no_labels(tmp_path: Path) -> None:
    path = save(tmp_path / "train.csv")
    assert load(f"file:{path},text=review", "public").texts == ["good one", "bad one", "so so"]
    (tmp_path / "lines.txt").write_text("one  line\n\nanother\none line\n")
    assert load(f"file:{tmp_path / 'lines.txt'}", "public").texts == ["one line", "another"]
    import gzip

    (tmp_path / "lines.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert load(f"file:{tmp_path / 'lines.txt.gz'}", "public").texts == ["one", "two"]
    (tmp_path / "lines.txt.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot be read"):
        load(f"file:{tmp_path / 'lines.txt.gz'}", "public")
