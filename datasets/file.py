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
# A score beyond it was not given by anybody, and its square is no number.
LARGEST = 1e30
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
        path = _place(self.path)
        if split == "public":
            return self._unlabelled(path)
        if split == "dev":
            path = path.with_name(f"dev{path.suffix}")
            if not path.is_file():
                raise DataError(f"file data has no dev split: put it at {path}")
        table = _read(path, self._texts())
        if len(table) < 2:
            raise DataError(f"{path} holds {len(table)} examples: at least 2 are needed")
        text = _column(table, self.text, TEXT, "text", path)
        pair = _column(table, self.pair, PAIRED, "pair", path, optional=True)
        label = _column(table, self.label, LABEL, "label", path)
        return _with_labels(_joined(table, text, pair, path), table[label], f"{path}, column {label!r}")

    def _texts(self) -> frozenset[str]:
        """Columns that hold text, whatever it looks like: 007 stays 007."""
        return frozenset([self.text, self.pair] if self.text and self.pair else [self.text, self.pair, *TEXT, *PAIRED])

    def _unlabelled(self, path: Path) -> Examples:
        """The sentences alone: what the file gives when it serves as somebody's public corpus."""
        if path.name.endswith((".txt", ".txt.gz")):
            texts = read_lines(path)
        else:
            table = _read(path, self._texts())
            texts = _joined(table, _column(table, self.text, TEXT, "text", path), None, path)
        distinct = list(dict.fromkeys(texts))
        return Examples(distinct, [0.0] * len(distinct))


def _joined(table: Any, text: str, pair: str | None, path: Path) -> list[str]:
    parts = [table[text]] if pair is None or pair == text else [table[text], table[pair]]
    if any(part.ndim > 1 for part in parts):
        raise DataError(f"{path} has two columns of one name: rename one of them")
    if any(part.isna().any() for part in parts):
        raise DataError(f"{path}: some rows have no {text}; remove them first")
    if any(_is_nested(value) for part in parts for value in part):
        raise DataError(f"{path}: {text} holds lists or tables: sentences were expected")
    return [PAIR.join(" ".join(str(p).split()) for p in row) for row in zip(*parts, strict=True)]


def _place(path: str) -> Path:
    try:
        found = Path(path).expanduser()
        found.is_file()
    except RuntimeError as error:
        raise DataError(f"file:{path}: there is no such user: give the whole path") from error
    except (OSError, ValueError) as error:  # longer than a name may be, or with a zero byte
        raise DataError(f"file:{path[:80]}: no file can have this name ({error.__class__.__name__})") from error
    return found


def _read(path: Path, texts: frozenset[str]) -> Any:
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.stat().st_size == 0:  # also what the kernel makes up when it is read, and may have no end
        raise DataError(f"{path} is empty")
    if path.suffix not in READERS:
        raise UsageError(f"file:{path}: the name must end in .tsv, .csv, .jsonl or .parquet")
    try:
        return READERS[path.suffix](path, texts)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}): convert it first") from error
    except (ValueError, OSError, ArithmeticError, RecursionError, TypeError, LookupError, AttributeError) as error:
        # Whatever pandas trips over: the file is somebody's.
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise DataError(f"{path} cannot be read as {path.suffix[1:]}: {said}") from error


def _read_csv(path: Path, texts: frozenset[str]) -> Any:
    import pandas as pd

    separated: dict[str, Any] = {"sep": "\t", "quoting": 3} if path.suffix == ".tsv" else {}
    names = pd.read_csv(path, nrows=0, **separated, **READING).columns
    kinds = {name: str for name in names if name in texts}
    return pd.read_csv(path, dtype=kinds, low_memory=False, **separated, **READING)


def _read_json(path: Path, texts: frozenset[str]) -> Any:
    import pandas as pd

    # As it stands there: pandas would make numbers and dates of text.
    return pd.read_json(path, lines=True, encoding="utf-8-sig", dtype=False)


def _read_parquet(path: Path, texts: frozenset[str]) -> Any:
    import pandas as pd

    return pd.read_parquet(path)


READERS = {
    ".tsv": _read_csv,
    ".csv": _read_csv,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".parquet": _read_parquet,
}


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


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict | tuple | bytes) or (hasattr(value, "shape") and value.shape != ())


def _with_labels(texts: list[str], column: Any, where: str) -> Examples:
    import pandas as pd

    if column.ndim > 1:
        raise DataError(f"{where}: there are two columns of this name: rename one of them")
    if column.isna().any():
        raise DataError(f"{where}: some labels are missing")
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
    number = {name: i for i, name in enumerate(classes)}
    return Examples(texts, [number[str(value)] for value in column], classes)


def _numbers(column: Any) -> Any:
    """Numbers that are written as text, as numbers; if some are not, as they were."""
    import pandas as pd

    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError):
        return column
