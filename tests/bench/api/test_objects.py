"""Plugin objects become names that another process can look up."""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench import UsageError, attack
from bench.api.objects import name_plugin
from bench.plugins.registry import Registry
from tests.helpers.cli import PLUGINS

CELL = """
from dataclasses import dataclass
import numpy as np
import bench.toolkit.mixing as mixtures
from bench import Guess, attack

FACTORS = {"scale": (2.0, 3)}
unused = np.zeros(3)
vectors = np.ones(2)

def scaled(x):
    return -halved(x) if x is None else x * FACTORS["scale"][0]

def halved(x):
    return scaled(x) / 4

@attack("mine", sees={"encodings"})
@dataclass(frozen=True)
class Mine:
    \"\"\"A docstring.\"\"\"

    top: int = 4

    def run(self, view, rng):
        vectors = np.asarray(scaled(view.encodings))  # a local name, whatever the notebook calls so
        return Guess(vectors=vectors + len(mixtures.__name__) * self.top)
"""
Cell = Callable[[str], ModuleType]


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Executes text as a notebook does: in `__main__`, which has no file; only linecache knows the source."""

    def execute(text: str) -> ModuleType:
        main = ModuleType("__main__")
        name = "<cell 1>"
        monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(keepends=True), name))
        monkeypatch.setitem(sys.modules, "__main__", main)
        exec(compile(text, name, "exec"), vars(main))
        return main

    return execute


def test_a_name_stays_a_name(tmp_path: Path) -> None:
    assert name_plugin("rss:top=3", "attack", [], tmp_path) == ("rss:top=3", None)


def test_an_object_of_the_project_is_its_name_and_options(tmp_path: Path) -> None:
    assert name_plugin(Registry().make("attack", "rss:top=3"), "attack", [], tmp_path) == ("rss:top=3", None)
    assert not list(tmp_path.iterdir())


def test_an_object_of_a_module_is_found_in_its_file(tmp_path: Path) -> None:
    file = str(PLUGINS / "toy.py")
    toy = Registry((file,)).make("encoder", "toy:dim=8")
    assert name_plugin(toy, "encoder", [], tmp_path) == ("toy:dim=8", file)
    assert name_plugin(toy, "encoder", [file], tmp_path) == ("toy:dim=8", None)


def test_a_class_of_a_cell_is_copied_with_what_it_uses_and_nothing_else(cell: Cell, tmp_path: Path) -> None:
    main = cell(CELL)
    name, file = name_plugin(main.Mine(top=2), "attack", [], tmp_path)
    assert name == "mine:top=2"
    assert file is not None
    text = Path(file).read_text()
    assert Path(file).parent == tmp_path / "plugins"
    assert "unused" not in text
    assert not re.search("^vectors", text, re.MULTILINE)
    made = Registry((file,)).make("attack", name)
    view: Any = type("View", (), {"encodings": 1.0})
    assert made.run(view, None).vectors == main.Mine(top=2).run(view, None).vectors


def test_the_same_cell_is_the_same_file_and_a_changed_one_another(cell: Cell, tmp_path: Path) -> None:
    first = name_plugin(cell(CELL).Mine(), "attack", [], tmp_path)[1]
    assert name_plugin(cell(CELL + "\nx = 1\n").Mine(), "attack", [], tmp_path)[1] == first
    assert name_plugin(cell(CELL.replace("2.0", "2.5")).Mine(), "attack", [], tmp_path)[1] != first


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('FACTORS["scale"][0]', "unused", "'unused', which it uses, is a ndarray of this session"),
        ('FACTORS["scale"][0]', "nowhere", "'nowhere', which scaled uses, is not defined"),
        ('attack("mine"', "attack(chr(109)", "its decorator does not say its name as text"),
        ("def halved(x):", "@np.vectorize\ndef halved(x):", "'halved', which it uses, is a vectorize of this session"),
    ],
)
def test_what_cannot_be_copied_is_named(cell: Cell, tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CELL
    with pytest.raises(UsageError, match=re.escape(said)) as error:
        name_plugin(cell(CELL.replace(old, new)).Mine(), "attack", [], tmp_path)
    assert "put it into a file of its own" in str(error.value)
    assert "\n" not in str(error.value)


def test_code_without_source_is_sent_to_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec(CELL, vars(main))
    with pytest.raises(UsageError, match="the source of Mine cannot be found; put it into a file of its own"):
        name_plugin(main.Mine(), "attack", [], tmp_path)


@attack("odd", sees={"encodings"})
@dataclass(frozen=True)
class Odd:
    words: str = "a"

    def run(self, view: Any, rng: Any) -> Any: ...


def test_mistakes_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no plugin: give a name"):
        name_plugin(3, "attack", [], tmp_path)
    with pytest.raises(UsageError, match="'odd' is an attack, not a defense"):
        name_plugin(Odd(), "defense", [], tmp_path)
    with pytest.raises(UsageError, match=r"pass an object, Odd\(\), not the class"):
        name_plugin(Odd, "attack", [], tmp_path)
    with pytest.raises(UsageError, match="cannot be written as text"):
        name_plugin(Odd(" spaces around "), "attack", [], tmp_path)
