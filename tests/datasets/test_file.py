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
        (
            "a.csv",
            b"text,label\nx,1\n,2\n",
            "",
            r"1 of 2 rows lack text \(line 3\): fill them in, or write skip_missing",
        ),
        ("a.csv", b"text,label\nx,1\ny,\n", "", r"1 of 2 rows lack label \(line 3\)"),
        ("a.jsonl", b'{"text": "x", "label": 1}\n{"text": null, "label": 2}', "", r"1 of 2 rows lack text \(row 2\)"),
        ("a.csv", b"text,label\n" + b"x,\n" * 9, "", r"9 of 9 rows lack label \(line 2, 3, 4, 5, 6, …\)"),
        (
            "a.csv",
            b"text,label\nx,1\ny, or z,2\n",
            "",
            "line 3: 3 fields, where the first line has 2: put",
        ),
        ("a.csv", b'text,label\nx,1\n"y,2\nz,3\n', "", "a quote that opens near line 3 is never closed"),
        ("a.csv", b"text,label\n" + b"x,1\nx,2\n" * 3, "", "column 'text': all 6 texts are the same"),
        (
            "a.csv",
            b"Alas poor Yorick,1\nx,2\n",
            "",
            r"no text column; .*its first line has Alas poor Yorick",
        ),
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
    with pytest.raises(DataError, match=r"3 rows, too few to hold some out as a dev split: write dev=FILE"):
        load(f"file:{tmp_path / 'train.csv'},text=review,label=stars", "dev")
    (tmp_path / "dev.csv").mkdir()
    other = save(tmp_path / "other.csv")
    assert len(load(f"file:{tmp_path / 'train.csv'},text=review,label=stars,dev={other}", "dev")) == 3


def test_without_a_dev_file_a_tenth_is_held_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("text,label\n" + "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(100)))
    train, dev = (load(f"file:{path}", split) for split in ("train", "dev"))
    assert (len(train), len(dev)) == (90, 10)
    assert sorted([*train.texts, *dev.texts]) == sorted(f"text {i}" for i in range(100))
    assert load(f"file:{path}", "dev").texts == dev.texts
    assert train.classes == dev.classes == ("a", "b")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_the_separator_of_a_csv_file_is_found_out(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(f"text{separator}label\none, two{separator}a\nthree{separator}b\n")
    assert load(f"file:{path}").texts == ["one, two", "three"]


def test_rows_with_something_missing_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("text,label\nx,a\n,b\ny,\nz,b\n")
    found = load(f"file:{path},skip_missing=true")
    assert found.texts == ["x", "z"]
    assert found.labels.tolist() == [0, 1]


def test_classes_that_differ_in_case_or_spaces_are_pointed_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("text,label\na,yes\nb,Yes\nc, no\nd,no\ne,maybe\n")
    assert load(f"file:{path}").classes == (" no", "Yes", "maybe", "no", "yes")
    assert "' no' and 'no' are different classes" in caplog.text
    assert "'Yes' and 'yes' are different classes" in caplog.text
    assert "maybe" not in caplog.text


def test_a_folder_of_text_files_with_a_folder_for_each_class(tmp_path: Path) -> None:
    for name, text in (("good/1", "fine"), ("good/2", "nice one"), ("bad/1", "dull")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.txt").write_text(text)
    found = load(f"file:{tmp_path}")
    assert found.texts == ["dull", "fine", "nice one"]
    assert found.classes == ("bad", "good")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no \.txt files"):
        load(f"file:{tmp_path / 'empty'}")


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


def test_an_option_may_be_written_as_the_command_line_writes_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\nx,1\n,2\ny,2\n")
    assert load(f"file:{tmp_path / 'a.csv'},skip-missing=true").texts == ["x", "y"]
