"""Text files are read or refused in one line; text from elsewhere is made safe to print."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bench.errors import DataError
from bench.system.text import printable, read_lines


@pytest.mark.parametrize("name", ["lines.txt", "lines.txt.gz"])
def test_one_sentence_a_line_with_white_space_folded(name: str, tmp_path: Path) -> None:
    raw = "\ufeffone  sentence\r\n\n \tanother\u00a0one \n".encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    assert read_lines(tmp_path / name) == ["one sentence", "another one"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("bad.txt", b"caf\xe9", "not UTF-8"), ("bad.txt.gz", b"no gzip", "cannot be read"), ("none.txt", None, "no such")],
)
def test_what_cannot_be_read_is_named(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_lines(tmp_path / name)


def test_control_characters_become_spaces() -> None:
    assert printable("a\x1b[2Jb\nc\u202ed") == "a [2Jb c d"
    assert printable(3) == "3"
