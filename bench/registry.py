"""Finds plugins in three places by one path, and imports one only when it is used.

The folders of this project and `--plugin` files are read as source: a plugin's name is the first argument of
its decorator, so names can be listed without importing anything. Installed packages announce theirs as entry
points in the groups `bench.attacks`, `bench.defenses`, `bench.datasets` and `bench.encoders`.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from . import IN_CHECKOUT, ROOT, options
from .errors import UsageError, unknown
from .plugin import KINDS, Info

PACKAGE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Entry:
    """Where one plugin is, as far as that is known without importing it."""

    kind: str
    name: str
    module: str
    """importable name, or the path of a file"""
    cls: str
    where: str
    summary: str = ""
    options: dict[str, str] = field(default_factory=dict)
    broken: str = ""

    def load(self) -> type:
        try:
            module = _import(self.module)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{self.kind} {self.name!r} ({self.where}) cannot be imported: {error!r}") from error
        cls = getattr(module, self.cls, None)
        info = getattr(cls, "__plugin__", None)
        if not isinstance(cls, type) or not isinstance(info, Info) or info.kind != self.kind:
            raise UsageError(f"{self.where}: {self.cls!r} is not a class under @{self.kind}(...)")
        return cls

    @property
    def source(self) -> Path | None:
        """The file whose code decides this plugin's numbers."""
        if self.module.endswith(".py"):
            return Path(self.module)
        spec = importlib.util.find_spec(self.module)
        return Path(spec.origin) if spec and spec.origin else None


@dataclass(frozen=True)
class Registry:
    """All plugins of this machine, plus those in `files` (from `--plugin`)."""

    files: tuple[str, ...] = ()

    def of(self, kind: str) -> dict[str, Entry]:
        """Every plugin of a kind by name; a name registered twice is an error."""
        found: dict[str, Entry] = {}
        for entry in self._by_kind[kind]:
            twin = found.setdefault(entry.name, entry)
            if twin is not entry:
                raise UsageError(
                    f"{kind} {entry.name!r} is registered twice: in {twin.where} and in {entry.where}; rename one"
                )
        return found

    def get(self, kind: str, name: str) -> Entry:
        found = self.of(kind)
        if name not in found:
            raise unknown(kind, name, found)
        if found[name].broken:
            raise UsageError(f"{kind} {name!r} ({found[name].where}) is broken: {found[name].broken}")
        return found[name]

    def make(self, kind: str, spec: str) -> Any:
        """The plugin that `name:option=value,...` describes."""
        name, pairs = options.split(spec)
        return options.build(self.get(kind, name).load(), pairs, f"{kind} {name}")

    @cached_property
    def _by_kind(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {kind: [] for kind in KINDS}
        for entry in [*_built_in(), *_installed(), *_from_files(self.files)]:
            found[entry.kind].append(entry)
        return found


def _built_in() -> Iterator[Entry]:
    home = ROOT if IN_CHECKOUT else PACKAGE
    for kind in ("attack", "defense", "dataset"):
        for path in sorted((home / f"{kind}s").glob("[!_.]*.py")):
            yield from _scan(path, f"bench.{kind}s.{path.stem}", kind)
    for name in ("encoders", "pictures"):
        yield from _scan(PACKAGE / f"{name}.py", f"bench.{name}", "encoder")


def _from_files(files: Sequence[str]) -> Iterator[Entry]:
    for name in files:
        path = Path(name).resolve()
        if not path.is_file() or path.suffix != ".py":
            raise UsageError(f"--plugin {name}: no such Python file")
        entries = list(_scan(path, str(path), "attack"))
        if not entries:
            raise UsageError(f"--plugin {name}: no class under @attack, @defense, @dataset or @encoder in it")
        if entries[0].broken:
            raise UsageError(f"--plugin {name}: {entries[0].broken}")
        yield from entries


def _installed() -> Iterator[Entry]:
    for kind in KINDS:
        points: Iterable[EntryPoint] = entry_points(group=f"bench.{kind}s")
        for point in points:
            package = point.dist.name if point.dist else "an installed package"
            module, _, cls = point.value.partition(":")
            yield Entry(kind, point.name, module, cls, f"package {package} ({point.value})", f"from {package}")


def _scan(path: Path, module: str, kind: str) -> Iterator[Entry]:
    """Entries for the decorated classes of a file, from its source alone."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (SyntaxError, UnicodeDecodeError) as error:
        yield Entry(kind, path.stem.replace("_", "-"), module, "", str(path), broken=f"cannot be read: {error}")
        return
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in classes.values():
        for mark in node.decorator_list:
            if not (isinstance(mark, ast.Call) and mark.args and isinstance(mark.args[0], ast.Constant)):
                continue
            word = mark.func.attr if isinstance(mark.func, ast.Attribute) else getattr(mark.func, "id", "")
            if word in KINDS:
                summary = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
                yield Entry(
                    word, str(mark.args[0].value), module, node.name, str(path), summary, _fields(node, classes)
                )


def _fields(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> dict[str, str]:
    """Options with their defaults, those that a class of the same file hands down included."""
    found: dict[str, str] = {}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            found |= _fields(classes[base.id], classes)
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            found[item.target.id] = ast.unparse(item.value) if item.value else "(required)"
            if "ClassVar" in ast.unparse(item.annotation):  # a constant of the class, not an option
                del found[item.target.id]
    return found


def _import(module: str) -> ModuleType:
    if not module.endswith(".py"):
        return importlib.import_module(module)
    name = f"bench_plugin_{Path(module).stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == module:
        return loaded
    spec = importlib.util.spec_from_file_location(name, module)
    assert spec is not None
    assert spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    sys.modules[name] = fresh  # dataclasses look their module up while the class is made
    try:
        spec.loader.exec_module(fresh)
    except BaseException:
        del sys.modules[name]
        raise
    return fresh
