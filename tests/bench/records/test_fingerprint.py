from __future__ import annotations

from pathlib import Path

import pytest

from bench.records import fingerprint


def test_a_plugin_package_with_helpers_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "their_attacks_abc"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("def f():\n    return 1\n")
    (package / "main.py").write_text("from their_attacks_abc.helper import f\nfrom bench import Guess\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = fingerprint.fingerprint(["their_attacks_abc.main"])
    (package / "helper.py").write_text("def f():\n    return 2\n")
    assert fingerprint.fingerprint(["their_attacks_abc.main"]) != before


def test_two_files_of_one_name_both_count(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "mine.py", tmp_path / "b" / "mine.py"]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(f"x = {number}\n")
    before = fingerprint.fingerprint(paths)
    paths[0].write_text("x = 7\n")
    middle = fingerprint.fingerprint(paths)
    paths[1].write_text("x = 8\n")
    assert len({before, middle, fingerprint.fingerprint(paths)}) == 3
