"""Anybody's own data: a tsv, csv, jsonl or parquet file with a text column and a label column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import DataError, Examples, UsageError, dataset
from bench.arrays import PAIR
from bench.system.text import read_lines

TEXT = ("text", "sentence", "sentence1", "question", "premise")
PAIRED = ("text2", "sentence2", "question2", "hypothesis")
LABEL = ("label", "labels", "target", "score")
# More different values than this in a numeric label column: a score, not a class.
MOST_CLASSES = 20
# "None" and "NA" are words like others; only an empty field is missing.
READING: dict[str, Any] = {"encoding": "utf-8-sig", "keep_default_na": False, "na_values": [""]}


@dataset("file", metrics=("accuracy", "pearson"))
@dataclass(frozen=True)
class File:
    """A tsv, csv, jsonl or parquet file: file:PATH,text=COLUMN,label=COLUMN."""

    path: str
    """the file; a sibling named dev.*, if any, is the dev split. As a public corpus, also .txt: a sentence a line"""
    text: str = ""
    """column of the sentence; by default text, sentence, ..."""
    pair: str = ""
    """column of the second sentence of a pair, if there is one"""
    label: str = ""
    """column of the label; by default label, target, ..."""

    def load(self, split: str) -> Examples:
        path = Path(self.path).expanduser()
        if split == "public":
            return self._unlabelled(path)
        if split == "dev":
            path = path.with_name(f"dev{path.suffix}")
            if not path.is_file():
                raise DataError(f"file data has no dev split: put it at {path}")
        table = _read(path)
        if len(table) < 2:
            raise DataError(f"{path} holds {len(table)} examples: at least 2 are needed")
        text = _column(table, self.text, TEXT, "text", path)
        pair = _column(table, self.pair, PAIRED, "pair", path, optional=True)
        label = _column(table, self.label, LABEL, "label", path)
        return _with_labels(_joined(table, text, pair, path), table[label], f"{path}, column {label!r}")

    def _unlabelled(self, path: Path) -> Examples:
        """The sentences alone: what the file gives when it serves as somebody's public corpus."""
        if path.name.endswith((".txt", ".txt.gz")):
            texts = read_lines(path)
        else:
            table = _read(path)
            texts = _joined(table, _column(table, self.text, TEXT, "text", path), None, path)
        distinct = list(dict.fromkeys(texts))
        return Examples(distinct, [0.0] * len(distinct))


def _joined(table: Any, text: str, pair: str | None, path: Path) -> list[str]:
    parts = [table[text]] if pair is None or pair == text else [table[text], table[pair]]
    if any(part.isna().any() for part in parts):
        raise DataError(f"{path}: some rows have no {text}; remove them first")
    return [PAIR.join(" ".join(str(p).split()) for p in row) for row in zip(*parts, strict=True)]


def _read(path: Path) -> Any:
    import pandas as pd

    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    try:
        if path.suffix == ".tsv":
            return pd.read_csv(path, sep="\t", quoting=3, **READING)
        if path.suffix == ".csv":
            return pd.read_csv(path, **READING)
        if path.suffix in {".jsonl", ".ndjson"}:
            return pd.read_json(path, lines=True, encoding="utf-8-sig")
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}): convert it first") from error
    except (ValueError, OSError) as error:
        raise DataError(f"{path} cannot be read as {path.suffix[1:]}: {str(error).splitlines()[0]}") from error
    raise UsageError(f"file:{path}: the name must end in .tsv, .csv, .jsonl or .parquet")


def _column(table: Any, given: str, usual: tuple[str, ...], what: str, path: Path, optional: bool = False) -> Any:
    names = list(map(str, table.columns))
    if given:
        if given not in names:
            raise DataError(f"{path} has no column {given!r}; it has {', '.join(names)}")
        return given
    for name in usual:
        if name in names:
            return name
    if optional:
        return None
    raise DataError(f"{path} has no {what} column; say which it is with {what}=NAME (it has {', '.join(names)})")


def _with_labels(texts: list[str], column: Any, where: str) -> Examples:
    import pandas as pd

    if column.isna().any():
        raise DataError(f"{where}: some labels are missing")
    if pd.api.types.is_float_dtype(column) or (
        pd.api.types.is_integer_dtype(column) and column.nunique() > MOST_CLASSES
    ):
        return Examples(texts, column.to_numpy())
    classes = sorted(map(str, column.unique()))
    number = {name: i for i, name in enumerate(classes)}
    return Examples(texts, [number[str(value)] for value in column], classes)
