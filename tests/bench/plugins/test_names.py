"""What plugins and options may be called, and how a plugin of another name is listed: as broken, and as plain text."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.plugins import names, registry
from bench.plugins.decorators import attack
from bench.plugins.registry import Registry

BAD = ("a/b", "../../out", "a\nb", "a\x1b[2Jb", "A", "a--b", "-a", "a-", "a b", "é", "", "a" * 41, "con\0", "a.b", "1a")
CODE = """
from dataclasses import dataclass
from bench import Guess, attack

@attack({name!r}, sees={{"encodings"}})
@dataclass(frozen=True)
class Mine:
    '''{summary}'''
{options}

    def run(self, view, rng):
        return Guess()
"""


def plugin(path: Path, name: str = "mine", summary: str = "One.", options: str = "    top: int = 1") -> Path:
    path.write_text(CODE.format(name=name, summary=summary, options=options))
    return path


@pytest.mark.parametrize("name", BAD)
def test_no_other_name_is_taken_anywhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not names.is_name(name)
    with pytest.raises(UsageError, match="cannot be a name: use small letters") as caught:
        attack(name, sees=())
    assert str(caught.value).isprintable()
    with pytest.raises(UsageError, match="cannot be a name") as caught:
        Registry((str(plugin(tmp_path / "mine.py", name)),)).of("attack")
    assert str(caught.value).isprintable()
    point = EntryPoint(name, "mine:Mine", "bench.attacks")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "bench.attacks" else [])
    (entry,) = (entry for entry in Registry().all() if entry.package)
    assert entry.broken
    assert entry.name.startswith("?")
    assert all(word.isprintable() for word in (entry.name, entry.broken, entry.where))
    assert "rss" in Registry().of("attack")


def test_names_of_the_scaffold_are_names() -> None:
    assert all(map(names.is_name, ("a", "my-attack", "dp-ie-gaussian", "a1-2b", "a" * 40)))


@pytest.mark.parametrize(
    "module", ["sitecustomize:Mine", "usercustomize.inner:Mine", "a b:Mine", "mine:Mi ne", "mine:"]
)
def test_modules_that_python_imports_by_itself_or_that_are_none_are_refused(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("mine", module, "bench.attacks")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "bench.attacks" else [])
    with pytest.raises(UsageError, match=r"when it starts|write module:Class"):
        Registry().get("attack", "mine")


def test_a_file_called_sitecustomize_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rename the file"):
        Registry((str(plugin(tmp_path / "sitecustomize.py")),)).of("attack")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("\n".join(f"    a{i}: int = 1" for i in range(40_000)), "it has 40,000 options; at most 64 are taken"),
        (f"    {'x' * 41}: int = 1", "is no name for an option"),
        ("    größe: int = 1", "is no name for an option"),
        (f"    top: int = {'-' * 3000}1", "nested too deeply"),
    ],
)
def test_odd_options_are_refused_in_one_line(options: str, said: str, tmp_path: Path) -> None:
    file = plugin(tmp_path / "mine.py", options=options)
    with pytest.raises(UsageError, match=said) as caught:
        Registry((str(file),)).get("attack", "mine")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000


def test_what_is_listed_of_a_plugin_is_short_and_plain(tmp_path: Path) -> None:
    file = plugin(tmp_path / "mine.py", summary="\\x1b[2J" + "x" * 5000, options=f"    top: str = {'y' * 5000!r}")
    entry = Registry((str(file),)).get("attack", "mine")
    assert len(entry.summary) <= names.SHOWN
    assert entry.summary.isprintable()
    assert len(entry.options["top"]) <= names.SHOWN


def test_a_name_with_a_slash_writes_nothing_anywhere(tmp_path: Path) -> None:
    file = plugin(tmp_path / "mine.py", "../../../escaped")
    out = tmp_path / "home" / "results"
    out.parent.mkdir()
    command = [sys.executable, "-m", "bench", "run", "--defense", "none", "--attack", "../../../escaped"]
    done = subprocess.run(
        [*command, "--plugin", str(file), "--out", str(out)], cwd=out.parent, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be a name" in done.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["home", "mine.py"]
