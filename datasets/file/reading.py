"""Reads tables of anybody's: tsv, csv, jsonl, parquet, or a folder of text files. Whatever is wrong is one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bench import DataError, UsageError

# "None" and "NA" are words like others; only an empty field is missing.
READING: dict[str, Any] = {"encoding": "utf-8-sig", "keep_default_na": False, "na_values": [""]}
# Of csv files; the first of those that occur equally often.
SEPARATORS = (",", ";", "\t", "|")
LONGEST_HEAD = 100_000


def place(path: str) -> Path:
    try:
        found = Path(path).expanduser()
        found.is_file()
    except RuntimeError as error:
        raise DataError(f"file:{path}: there is no such user: give the whole path") from error
    except (OSError, ValueError) as error:  # longer than a name may be, or with a zero byte
        raise DataError(f"file:{path[:80]}: no file can have this name ({error.__class__.__name__})") from error
    return found


def read(path: Path, texts: frozenset[str]) -> Any:
    """The table that a file holds. Columns named in `texts` are read as text, whatever it looks like."""
    if path.is_dir():
        return _read_folder(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    if path.stat().st_size == 0:  # also what the kernel makes up when it is read, and may have no end
        raise DataError(f"{path} is empty")
    if path.suffix not in READERS:
        raise UsageError(f"file:{path}: the name must end in .tsv, .csv, .jsonl or .parquet")
    try:
        return READERS[path.suffix](path, texts)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8 (CSV UTF-8 in Excel)") from error
    except (ValueError, OSError, ArithmeticError, RecursionError, TypeError, LookupError, AttributeError) as error:
        # Whatever pandas trips over: the file is somebody's.
        said = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise DataError(_plain(path, said)) from error


def _plain(path: Path, said: str) -> str:
    """What pandas says of a table that is none, in words of whoever made it."""
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", said):
        wanted, line, seen = found.groups()
        return (
            f"{path}, line {line}: {seen} fields, where the first line has {wanted}: put quotes around what holds "
            "the character between the columns"
        )
    if found := re.search(r"EOF inside string starting at row (\d+)", said):
        return f"{path}: a quote that opens near line {int(found[1]) + 1} is never closed"
    return f"{path} cannot be read as {path.suffix[1:]}: {said}"


def _read_csv(path: Path, texts: frozenset[str]) -> Any:
    import pandas as pd

    separated: dict[str, Any] = {"sep": "\t", "quoting": 3} if path.suffix == ".tsv" else {"sep": _separator(path)}
    names = pd.read_csv(path, nrows=0, **separated, **READING).columns
    kinds = {name: str for name in names if name in texts}
    return pd.read_csv(path, dtype=kinds, low_memory=False, **separated, **READING)


def _separator(path: Path) -> str:
    """What stands between the columns of a csv file, from its first line: a comma, unless another occurs more often."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        head = lines.readline(LONGEST_HEAD)
    return max(SEPARATORS, key=head.count)


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


def _read_folder(path: Path) -> Any:
    """A text file for each example; where they lie in folders, the folder is the label."""
    import pandas as pd

    files = sorted(found for found in path.rglob("*.txt") if found.is_file())
    if not files:
        raise DataError(f"{path} holds no .txt files: one for each example was expected, in a folder for each class")
    try:
        texts = [found.read_text(encoding="utf-8-sig") for found in files]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a file is not UTF-8 (byte {error.start}): convert it first") from error
    labels = [found.parent.relative_to(path).as_posix() for found in files]
    return pd.DataFrame({"text": [text.strip() or None for text in texts], "label": labels})
