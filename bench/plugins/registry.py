"""Finds plugins in three places by one path, and imports one only when it is used.

The folders of this project, `--plugin` files and the modules that installed packages announce as entry points (in the
groups `bench.attacks`, `bench.defenses`, `bench.datasets` and `bench.encoders`) are all read as source: a plugin's
name is the first argument of its decorator, so everything can be listed without importing anything. A plugin that
could not be imported is listed as broken, with the reason, and harms no other.
"""

from __future__ import annotations

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

from bench import IN_CHECKOUT, ROOT
from bench.errors import UsageError, closest, unknown
from bench.plugins import names, options, source
from bench.plugins.decorators import KINDS, Info

PACKAGE = Path(__file__).resolve().parent.parent


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
    package: str = ""
    """the installed distribution that announces it"""
    explained: dict[str, str] = field(default_factory=dict)
    """what each option means"""
    sees: tuple[str, ...] = ()
    """what an attack is given"""
    paper: str = ""

    @property
    def built_in(self) -> bool:
        return self.module.startswith("bench.") and not self.package

    def load(self) -> type:
        try:
            module = _import(self.module)
        except UsageError:
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(f"{self.kind} {self.name!r} ({self.where}) cannot be imported: {error!r}") from error
        cls = getattr(module, self.cls, None)
        info = getattr(cls, "__plugin__", None)
        if not isinstance(cls, type) or not isinstance(info, Info) or info.kind != self.kind:
            raise UsageError(f"{self.where}: {self.cls!r} is not a class under @{self.kind}(...)")
        return cls


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
            own = "" if closest(name, list(found)) else "; one in a file of your own needs --plugin FILE"
            raise UsageError(f"{unknown(kind, name, found)}{own}")
        if found[name].broken:
            raise UsageError(f"{kind} {name!r} ({found[name].where}) is broken: {found[name].broken}")
        return found[name]

    def all(self) -> list[Entry]:
        """Every plugin of every kind; unlike `of`, also where two share a name."""
        return [entry for kind in KINDS for entry in self._by_kind[kind]]

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
        folder = home / f"{kind}s"
        for path in sorted([*folder.glob("[!_.]*.py"), *folder.glob("[!_.]*/__init__.py")], key=_stem):
            yield from _scan(path, f"bench.{kind}s.{_stem(path)}", kind)
    for path in sorted((PACKAGE / "encoders").glob("[!_.]*.py")):
        yield from _scan(path, f"bench.encoders.{path.stem}", "encoder")


def _stem(path: Path) -> str:
    """The name of a module: `name.py` or `name/__init__.py`."""
    return path.parent.name if path.name == "__init__.py" else path.stem


def _from_files(files: Sequence[str]) -> Iterator[Entry]:
    for name in files:
        path = Path(name).resolve()
        if not path.is_file() or path.suffix != ".py":
            raise UsageError(f"--plugin {name}: no such Python file")
        if path.stem in names.STARTUP:
            raise UsageError(f"--plugin {name}: Python imports a module of that name when it starts; rename the file")
        entries = list(_scan(path, str(path), "attack"))
        if not entries:
            raise UsageError(f"--plugin {name}: no class under @attack, @defense, @dataset or @encoder in it")
        if not entries[0].cls:
            raise UsageError(f"--plugin {name}: {entries[0].broken}")
        for entry in entries:
            if not names.is_name(entry.name):
                raise UsageError(f"--plugin {name}: {entry.broken}")
        yield from entries


def _installed() -> Iterator[Entry]:
    for kind in KINDS:
        points: Iterable[EntryPoint] = entry_points(group=f"bench.{kind}s")
        yield from (_announced(kind, point) for point in points)


def _announced(kind: str, point: EntryPoint) -> Entry:
    package = names.cut(point.dist.name) if point.dist else "an installed package"
    where = f"package {package} ({names.cut(point.value)})"
    module, _, cls = point.value.partition("[")[0].strip().partition(":")
    name = point.name if names.is_name(point.name) else names.stand_in(point.name)

    def entry(summary: str = "", plugin: source.Found | None = None, broken: str = "") -> Entry:
        found = plugin or source.Found(kind, name, cls)
        return Entry(
            kind, name, module, cls, where, summary, found.options, broken, package, found.explained, found.sees,
            found.paper,
        )  # fmt: skip

    if name != point.name:
        return entry(broken=names.why_not(point.name, kind))
    if not cls.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        return entry(broken=f"its entry point says {point.value[: names.SHOWN]!r}: write module:Class")
    if module.split(".")[0] in names.STARTUP:
        return entry(broken=f"Python imports {module} when it starts; its author must rename the module")
    try:
        path = source.locate(module)
        if path is None:  # compiled: nothing to read, and nothing against it
            return entry(f"from {package}")
        found = source.read(path, module)
    except source.Unreadable as error:
        return entry(broken=str(error))
    if found.missing:
        return entry(broken=found.missing)
    for plugin in found.plugins:
        if plugin.cls == cls and plugin.kind == kind:
            if plugin.name != point.name:
                said = plugin.name[: names.LONGEST]
                differs = f"its entry point calls it {point.name!r}, its decorator {said!r}: make them the same"
                return entry(plugin.summary, plugin, differs)
            return entry(plugin.summary, plugin, _odd(plugin))
    if cls in found.names and cls not in {plugin.cls for plugin in found.plugins}:
        return entry(f"from {package}")  # handed on from another module: seen when it is loaded
    return entry(broken=f"{module} has no class {cls!r} under @{kind}(...)")


def _scan(path: Path, module: str, kind: str) -> Iterator[Entry]:
    """Entries for the decorated classes of a file; `kind` is what an unreadable one is listed as."""
    try:
        found = source.read(path, module)
    except source.Unreadable as error:
        yield Entry(kind, _stem(path).replace("_", "-"), module, "", str(path), broken=str(error))
        return
    for plugin in found.plugins:
        name = plugin.name if names.is_name(plugin.name) else names.stand_in(plugin.name)
        broken = _odd(plugin) or found.missing
        options = {} if broken else plugin.options
        yield Entry(
            plugin.kind, name, module, plugin.cls, str(path), plugin.summary, options, broken,
            explained=plugin.explained, sees=plugin.sees, paper=plugin.paper,
        )  # fmt: skip


def _odd(plugin: source.Found) -> str:
    """Why a plugin of this name, or with these options, is not taken; empty if it is."""
    if not names.is_name(plugin.name):
        return names.why_not(plugin.name, plugin.kind)
    if len(plugin.options) > names.OPTIONS:
        return f"it has {len(plugin.options):,} options; at most {names.OPTIONS} are taken"
    odd = next((option for option in plugin.options if not names.is_option(option.lstrip("_"))), None)
    return f"{odd[: names.LONGEST]!r} is no name for an option: use letters a to z" if odd is not None else ""


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
