"""Text files with one sentence per line, compressed or not; text made safe to print; words of messages."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from bench.errors import DataError


def read_lines(path: Path) -> list[str]:
    """The lines that hold something, with white space folded."""
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}): convert it first") from error
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return [folded for line in text.split("\n") if (folded := " ".join(line.split()))]


def printable(text: Any) -> str:
    """Without control characters, which would move a terminal's cursor or break a line of a table."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def article(noun: str) -> str:
    """`a` or `an`"""
    return "an" if noun[0] in "aeiou" else "a"
