"""Anybody's own data: a file with a text column and a label column, or a folder of text files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import DataError, Examples, dataset
from bench.arrays import PAIR
from bench.datasets.file import reading
from bench.system.seeds import generator
from bench.system.text import read_lines

log = logging.getLogger(__name__)

TEXT = ("text", "sentence", "sentence1", "question", "premise")
PAIRED = ("text2", "sentence2", "question2", "hypothesis")
LABEL = ("label", "labels", "target", "score")
# More different values than this in a numeric label column: a score, not a class.
MOST_CLASSES = 20
# A score beyond it was not given by anybody, and its square is no number.
LARGEST = 1e30
# Share of a file that is its dev split where there is no file for it, and the rows that this takes at least.
HELD_OUT, LEAST = 0.1, 20
# Columns that are named, each by its first characters: without a header they are somebody's sentences.
MOST_NAMED, LONGEST = 12, 30
# Lines that are named of those in which something is missing.
NAMED = 5


@dataset("file", metrics=("accuracy", "pearson"))
@dataclass(frozen=True)
class File:
    """A tsv, csv, jsonl or parquet file, or a folder of text files: file:PATH,text=COLUMN,label=COLUMN."""

    path: str
    """the file. As a public corpus, also .txt: a sentence a line"""
    text: str = ""
    """column of the sentence; by default text, sentence, ..."""
    pair: str = ""
    """column of the second sentence of a pair, if there is one"""
    label: str = ""
    """column of the label; by default label, target, ..."""
    dev: str = ""
    """the file of the dev split; by default a sibling named dev.*, else a tenth of the rows is held out for it"""
    skip_missing: bool = False
    """leave out rows without a text or a label"""

    def load(self, split: str) -> Examples:
        path = reading.place(self.path)
        if split == "public":
            return self._unlabelled(path)
        dev = reading.place(self.dev) if self.dev else path.with_name(f"dev{path.suffix}")
        apart = bool(self.dev) or (dev.is_file() and dev != path)
        examples = self._labelled(dev if split == "dev" and apart else path)
        if apart:
            return examples
        if len(examples) < LEAST:
            if split == "dev":
                raise DataError(
                    f"{path} has {len(examples)} rows, too few to hold some out as a dev split: write dev=FILE, "
                    f"or put one at {dev}"
                )
            return examples
        held = np.zeros(len(examples), bool)
        held[generator(0, "dev", len(examples)).permutation(len(examples))[: round(HELD_OUT * len(examples))]] = True
        return examples.take(np.flatnonzero(held if split == "dev" else ~held))

    def _labelled(self, path: Path) -> Examples:
        table = reading.read(path, self._texts())
        return labelled(table, path, self.text, self.pair, self.label, skip=self.skip_missing)

    def _texts(self) -> frozenset[str]:
        """Columns that hold text, whatever it looks like: 007 stays 007."""
        return frozenset([self.text, self.pair] if self.text and self.pair else [self.text, self.pair, *TEXT, *PAIRED])

    def _unlabelled(self, path: Path) -> Examples:
        """The sentences alone: what the file gives when it serves as somebody's public corpus."""
        if path.name.endswith((".txt", ".txt.gz")):
            texts = read_lines(path)
        else:
            table = reading.read(path, self._texts())
            text = _column(table, self.text, TEXT, "text", path)
            texts = _joined(_complete(table, [text], path, skip=self.skip_missing), text, None, path)
        distinct = list(dict.fromkeys(texts))
        return Examples(distinct, [0.0] * len(distinct))


def labelled(table: Any, path: Path, text: str, pair: str, label: str, *, skip: bool) -> Examples:
    """Texts and labels of a table, from columns of these names or, where they are empty, of the usual ones."""
    text = _column(table, text, TEXT, "text", path)
    second = _column(table, pair, PAIRED, "pair", path, optional=True)
    label = _column(table, label, LABEL, "label", path)
    table = _complete(table, [text, *([second] if second else []), label], path, skip=skip)
    if len(table) < 2:
        raise DataError(f"{path} holds {len(table)} examples: at least 2 are needed")
    texts = _joined(table, text, second, path)
    if len(set(texts)) < 2:
        raise DataError(f"{path}, column {text!r}: all {len(texts)} texts are the same")
    return _with_labels(texts, table[label], f"{path}, column {label!r}")


def _complete(table: Any, columns: Sequence[str], path: Path, *, skip: bool) -> Any:
    """The rows in which nothing is missing; without `skip`, all of them must be."""
    for column in dict.fromkeys(columns):
        if table[column].ndim > 1:
            raise DataError(f"{path} has two columns named {column!r}: rename one of them")
    empty = table[list(dict.fromkeys(columns))].isna()
    rows = np.flatnonzero(empty.any(axis=1).to_numpy())
    if len(rows) and not skip:
        absent = ", ".join(str(column) for column in empty.columns if empty[column].any())
        # The first row of a table with a header is line 2; of jsonl it is line 1. Quoted line breaks move it.
        first = 2 if path.suffix in (".csv", ".tsv") else 1
        lines = ", ".join(str(row + first) for row in rows[:NAMED]) + (", …" if len(rows) > NAMED else "")
        raise DataError(
            f"{path}: {len(rows)} of {len(table)} rows lack {absent} ({'line' if first == 2 else 'row'} {lines}): "
            "fill them in, or write skip_missing=true to leave them out"
        )
    return table[~empty.any(axis=1)] if len(rows) else table


def _joined(table: Any, text: str, pair: str | None, path: Path) -> list[str]:
    parts = [table[text]] if pair is None or pair == text else [table[text], table[pair]]
    if any(_is_nested(value) for part in parts for value in part):
        raise DataError(f"{path}: {text} holds lists or tables: sentences were expected")
    return [PAIR.join(" ".join(str(p).split()) for p in row) for row in zip(*parts, strict=True)]


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
    shown = ", ".join(name[:LONGEST] for name in names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    raise DataError(f"{path} has no {what} column; say which it is with {what}=NAME (its first line has {shown})")


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict | tuple | bytes) or (hasattr(value, "shape") and value.shape != ())


def _with_labels(texts: list[str], column: Any, where: str) -> Examples:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column):
        if any(map(_is_nested, column)):
            raise DataError(f"{where}: lists or tables: a label is a word or a number")
        if all(isinstance(value, str) for value in column):
            column = _numbers(column)
    if pd.api.types.is_float_dtype(column) or (
        pd.api.types.is_integer_dtype(column) and column.nunique() > MOST_CLASSES
    ):
        largest = float(abs(column.to_numpy(dtype=float)).max())
        if not largest < LARGEST:
            raise DataError(f"{where}: a score of {largest:g}: a finite number was expected")
        return Examples(texts, column.to_numpy())
    classes = sorted(set(map(str, column)))
    _point_out_twins(classes, where)
    number = {name: i for i, name in enumerate(classes)}
    return Examples(texts, [number[str(value)] for value in column], classes)


def _point_out_twins(classes: Sequence[str], where: str) -> None:
    """Classes such as `yes` and `Yes `, which are two to a program and one to whoever typed them."""
    same: dict[str, list[str]] = {}
    for name in classes:
        same.setdefault(" ".join(name.split()).casefold(), []).append(name)
    for names in same.values():
        if len(names) > 1:
            log.warning("%s: %s are different classes: write them alike if they mean the same", where,
                        " and ".join(map(repr, names)))  # fmt: skip


def _numbers(column: Any) -> Any:
    """Numbers that are written as text, as numbers; if some are not, as they were."""
    import pandas as pd

    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError):
        return column
