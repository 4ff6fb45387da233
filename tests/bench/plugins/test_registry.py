from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.plugins import registry
from bench.plugins.registry import Registry

ATTACK = """
from dataclasses import dataclass
from bench import Guess, attack

@attack({name!r}, sees={{"encodings", "corpus"}})
@dataclass(frozen=True)
class Mine:
    '''Says something.'''
    top: int = 1

    def run(self, view, rng):
        return Guess(ranking=view.corpus.search(view.encodings, self.top))
"""


def write(path: Path, name: str = "mine") -> str:
    path.write_text(ATTACK.format(name=name))
    return str(path)


def test_built_in_plugins_are_found_by_their_names() -> None:
    found = Registry()
    assert {"none", "mix-only", "texthide"} <= set(found.of("defense"))
    assert {"rss", "dlg", "dlg-blind", "gradient-ratio"} <= set(found.of("attack"))
    assert {"demo", "file", "cola", "sst2", "mrpc", "stsb", "rte", "qnli", "qqp", "mnli"} <= set(found.of("dataset"))
    assert {"minilm", "mpnet", "bert", "roberta", "hub", "lenet", "pixels", "convnet"} == set(found.of("encoder"))


def test_every_built_in_plugin_loads_under_the_name_it_is_listed_by() -> None:
    for kind in ("attack", "defense", "dataset", "encoder"):
        for name, entry in Registry().of(kind).items():
            assert entry.load().__plugin__.name == name
            assert entry.summary, f"{kind} {name} has no docstring"


def test_options_that_a_class_inherits_are_listed() -> None:
    assert Registry().of("defense")["texthide-inter"].options["k"] == "4"
    assert Registry().of("defense")["dp-ie-gaussian"].options["epsilon"] == "1.0"
    assert "task" not in Registry().of("dataset")["cola"].options


def test_listing_imports_no_plugin_no_numpy_and_no_torch() -> None:
    code = (
        "import sys; from bench.plugins.registry import Registry; r = Registry();"
        "[r.of(k) for k in ('attack', 'defense', 'dataset', 'encoder')];"
        "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'torch') or m.startswith('bench.attacks.')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_file_plugin_is_found_and_made_with_options(tmp_path: Path) -> None:
    found = Registry((write(tmp_path / "mine.py"),))
    assert found.of("attack")["mine"].summary == "Says something."
    assert found.make("attack", "mine:top=3").top == 3


def test_an_entry_point_goes_through_the_same_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "their_package_xyz.py", "theirs")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("theirs", "their_package_xyz:Mine", "bench.attacks")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "bench.attacks" else [])
    assert Registry().make("attack", "theirs").top == 1


def test_a_name_registered_twice_names_both_places(tmp_path: Path) -> None:
    found = Registry((write(tmp_path / "a.py"), write(tmp_path / "b.py")))
    with pytest.raises(UsageError) as error:
        found.get("attack", "mine")
    assert "a.py" in str(error.value)
    assert "b.py" in str(error.value)
    assert found.get("defense", "none").name == "none"


def test_a_name_taken_by_the_project_cannot_be_replaced(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="registered twice"):
        Registry((write(tmp_path / "a.py", "rss"),)).get("attack", "rss")


def test_unknown_names_come_with_the_closest_match() -> None:
    with pytest.raises(UsageError, match="unknown defense 'texthid': did you mean 'texthide'"):
        Registry().get("defense", "texthid")


@pytest.mark.parametrize(
    ("content", "said"),
    [("def broken(:", "cannot be read"), ("x = 1", "no class under @attack"), (None, "no such Python file")],
)
def test_a_file_that_holds_no_plugin_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "p.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=said):
        Registry((str(path),)).of("attack")


def test_a_plugin_that_fails_to_import_says_why_and_harms_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("import a_module_that_is_not_there\n" + ATTACK.format(name="bad"))
    found = Registry((str(path),))
    with pytest.raises(UsageError, match="a_module_that_is_not_there"):
        found.make("attack", "bad")
    assert found.make("attack", "rss").top == 16


def announce(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str]) -> None:
    found = [EntryPoint(name, value, "bench.attacks") for name, value in points]
    monkeypatch.setattr(registry, "entry_points", lambda group: found if group == "bench.attacks" else [])


@pytest.mark.parametrize(
    ("value", "content", "said"),
    [
        ("their_package_gone:Mine", None, "there is no module 'their_package_gone'"),
        ("{module}.inner:Mine", ATTACK, "there is no module"),
        ("{module}:Mine", "def broken(:", "cannot be read"),
        ("{module}:Mine", "x = '\\udcff'\0", "cannot be read"),
        ("{module}:Mine", "import a_module_that_is_not_there\n" + ATTACK, "'a_module_that_is_not_there', which is not"),
        ("{module}:Mine", "from bench import Guess, lookalike\n" + ATTACK, "'lookalike' from bench"),
        ("{module}:Other", ATTACK, "no class 'Other' under @attack"),
        ("{module}:Mine", ATTACK.replace("@attack", "@defense"), "no class 'Mine' under @attack"),
        ("{module}:Mine", ATTACK.replace("{name!r}", "'other'"), "make them the same"),
        ("{module}", ATTACK, "write module:Class"),
    ],
)
def test_a_broken_entry_point_is_listed_with_the_reason_and_harms_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, content: str | None, said: str
) -> None:
    module = f"their_package_{tmp_path.name}"
    if content is not None:
        (tmp_path / f"{module}.py").write_text(
            content.replace("{name!r}", "'theirs'").replace("{{", "{").replace("}}", "}")
        )
    monkeypatch.syspath_prepend(str(tmp_path))
    announce(monkeypatch, ("theirs", value.replace("{module}", module)))
    found = Registry()
    assert said in found.of("attack")["theirs"].broken
    with pytest.raises(UsageError, match="is broken"):
        found.make("attack", "theirs")
    assert found.make("attack", "rss").top == 16


def test_listing_an_entry_point_imports_neither_it_nor_the_package_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "their_loud_package"
    (package / "inner").mkdir(parents=True)
    for path in (package / "__init__.py", package / "inner" / "__init__.py"):
        path.write_text("raise RuntimeError('imported')")
    (package / "inner" / "_helper.py").write_text("")
    write(package / "inner" / "mine.py", "theirs")
    source = (package / "inner" / "mine.py").read_text()
    (package / "inner" / "mine.py").write_text("from ._helper import x\n" + source)
    monkeypatch.syspath_prepend(str(tmp_path))
    announce(monkeypatch, ("theirs", "their_loud_package.inner.mine:Mine"))
    entry = Registry().of("attack")["theirs"]
    assert (entry.summary, entry.options, entry.broken) == ("Says something.", {"top": "1"}, "")
    assert not any(name.startswith("their_loud_package") for name in sys.modules)
    with pytest.raises(UsageError, match="RuntimeError"):
        entry.load()
    (package / "inner" / "_helper.py").unlink()
    assert "._helper, which is not there" in Registry().of("attack")["theirs"].broken


def test_a_class_that_an_entry_point_hands_on_is_taken_on_trust_until_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "their_tidy_package"
    package.mkdir()
    (package / "__init__.py").write_text("from .mine import Mine\n")
    write(package / "mine.py", "theirs")
    monkeypatch.syspath_prepend(str(tmp_path))
    announce(monkeypatch, ("theirs", "their_tidy_package:Mine"))
    assert Registry().of("attack")["theirs"].broken == ""
    assert Registry().make("attack", "theirs:top=2").top == 2


def test_imports_that_may_have_been_thought_of_do_not_break_a_plugin(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("try:\n    import not_there_xyz\nexcept ImportError:\n    pass\n" + ATTACK.format(name="mine"))
    assert Registry((str(path),)).make("attack", "mine").top == 1


def test_a_file_that_imports_from_beside_itself_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from .helper import x\n" + ATTACK.format(name="mine"))
    with pytest.raises(UsageError, match="a single file cannot"):
        Registry((str(path),)).make("attack", "mine")


def test_a_plugin_that_ends_the_process_on_import_is_an_error_like_others(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import sys\nsys.exit(0)\n" + ATTACK.format(name="mine"))
    with pytest.raises(UsageError, match="cannot be imported: SystemExit"):
        Registry((str(path),)).make("attack", "mine")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('{"encodings", "corpus"}', '{"encodings", "key"}'), "unknown word in sees"),
        (("@dataclass(frozen=True)", "@dataclass"), "frozen=True"),
        (("def run", "def go"), "needs a method run"),
    ],
)
def test_decorators_check_what_they_decorate(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(ATTACK.format(name="odd").replace(*change))
    with pytest.raises(UsageError, match=said):
        Registry((str(path),)).make("attack", "odd")
