"""Atomic writes: readers see the old file or the new one, never half of one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.system.files import atomic_write, digest, write_text


def test_the_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_text(path, "old")
    write_text(path, "nëw")
    assert path.read_text(encoding="utf-8") == "nëw"
    assert os.listdir(path.parent) == ["file.txt"]


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def fail() -> None:
        with atomic_write(path) as part:
            part.write_text("half")
            assert path.read_text() == "old"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_files_are_as_readable_as_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match=r"cannot write .*; choose another folder"):
        write_text(tmp_path / "file" / "inner", "")


def test_the_digest_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert digest(tmp_path / "file") == hashlib.sha256(b"abc").hexdigest()
