"""Plugin objects, such as `MyAttack(top=3)` of a notebook cell, as names that every process can look up.

An attack runs in a process of its own, and a record says which code made it. So an object is no more than its class
and options: the class must be found again by name. One that lies in a module of its own is; what was defined in a
notebook or a script is copied, with the definitions it needs, into a file beside the records.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import hashlib
import linecache
import symtable
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import bench
from bench.errors import UsageError
from bench.experiment.cells import Chosen
from bench.plugins import source
from bench.plugins.decorators import Info
from bench.plugins.registry import Registry
from bench.system.text import article

# Values of global variables that can be written down as they are.
CONSTANTS = (int, float, complex, str, bytes, bool, type(None))


def name_plugin(plugin: Any, kind: str, files: list[str], folder: Path) -> tuple[Any, str | None]:
    """The name of a plugin with its options, and the file that holds it unless it is found without; text stays."""
    if isinstance(plugin, str):
        return plugin, None
    info = plugin_info(plugin)
    if info.kind != kind:
        given, wanted = f"{article(info.kind)} {info.kind}", f"{article(kind)} {kind}"
        raise UsageError(f"{kind}={plugin!r}: {info.name!r} is {given}, not {wanted}")
    if isinstance(plugin, type):
        raise UsageError(f"{kind}={plugin.__name__}: pass an object, {plugin.__name__}(), not the class")
    cls = type(plugin)
    file = None if _known(cls, info, files) else _file(cls, info, folder)
    registry = Registry((*files, file) if file else tuple(files))
    name = Chosen(registry.get(kind, info.name), plugin).label
    made = registry.make(kind, name)
    if dataclasses.asdict(made) != dataclasses.asdict(plugin):
        raise UsageError(f"{kind} {plugin!r}: its options cannot be written as text ({name}): use numbers and words")
    return name, file


def plugin_info(plugin: Any) -> Info:
    info = getattr(plugin, "__plugin__", None)
    if not isinstance(info, Info):
        raise UsageError(
            f"{plugin!r} is no plugin: give a name (bench list), or an object of a class under @attack, @defense, "
            "@dataset or @encoder"
        )
    return info


def _known(cls: type, info: Info, files: list[str]) -> bool:
    """Whether the registry finds the very class by itself."""
    entry = Registry(tuple(files)).of(info.kind).get(info.name)
    if entry is None or entry.cls != cls.__name__:
        return False
    return entry.module == cls.__module__ or entry.module == _module_file(cls)


def _module_file(cls: type) -> str | None:
    path = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return str(Path(path).resolve()) if path else None


def _file(cls: type, info: Info, folder: Path) -> str:
    """The file of a class: that of its module or, for a script or a notebook, a new one in `folder`/plugins."""
    path = _module_file(cls)
    if path and path.endswith(".py") and cls.__module__ != "__main__":
        return path
    from bench.system.files import write_text

    text = module_source(cls, info)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    target = (folder / "plugins" / f"{info.name}-{digest}.py").resolve()
    if not target.is_file():
        write_text(target, text)
    plugins = source.read(target, str(target)).plugins
    if (info.kind, info.name, cls.__name__) not in [(found.kind, found.name, found.cls) for found in plugins]:
        raise _put_into_a_file(cls, f"its decorator does not say its name as text, @{info.kind}({info.name!r}, …)")
    return str(target)


def module_source(cls: type, info: Info) -> str:
    """A module that defines a class of `__main__`, with all that the definition needs."""
    collected = _Definitions(cls)
    collected.add(cls.__name__, cls)
    head = f'"""{info.kind.capitalize()} {info.name!r}, copied by hideseek from a notebook or script."""'
    return "\n\n".join([head, "from __future__ import annotations", *collected.parts()]) + "\n"


class _Definitions:
    """Definitions of `__main__` that a class reaches, in an order in which they can be executed."""

    def __init__(self, cls: type):
        self._cls = cls
        self._scope = vars(sys.modules[cls.__module__])
        self._imports: dict[str, str] = {}
        self._definitions: dict[str, str] = {}
        self._begun: set[str] = set()

    def parts(self) -> Iterator[str]:
        if self._imports:
            yield "\n".join(sorted(self._imports.values()))
        yield from self._definitions.values()

    def add(self, name: str, value: Any) -> None:
        if name in self._begun:
            return
        self._begun.add(name)
        line = _import(name, value)
        if line:
            self._imports[name] = line
        elif isinstance(value, FunctionType | type) and value.__module__ == self._cls.__module__:
            self._add_definition(name, value)
        elif _constant(value):
            self._definitions[name] = f"{name} = {value!r}"
        else:
            raise _put_into_a_file(self._cls, f"{name!r}, which it uses, is a {type(value).__name__} of this session")

    def _add_definition(self, name: str, value: FunctionType | type) -> None:
        own, text = _source(self._cls, value)
        if own != name:
            raise _put_into_a_file(self._cls, f"{name!r}, which it uses, was defined as {own!r}")
        # What a definition names comes before it; a function that calls itself, or the class, has begun already.
        for used in sorted(_global_names(text)):
            if used in self._scope:
                self.add(used, self._scope[used])
            elif not hasattr(builtins, used):
                raise _put_into_a_file(self._cls, f"{used!r}, which {name} uses, is not defined")
        self._definitions[name] = text


def _source(cls: type, value: FunctionType | type) -> tuple[str, str]:
    """Name and text of a function or class of `__main__`, from the cell or the script that it stands in."""
    for file, line in _places(value):
        lines = linecache.getlines(file)
        for node in reversed(_parsed("".join(lines)).body):  # the last definition of a name counts
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == value.__qualname__:
                first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                if line is None or first <= line <= (node.end_lineno or first):
                    return node.name, "".join(lines[first - 1 : node.end_lineno]).rstrip()
    raise _put_into_a_file(cls, f"the source of {value.__qualname__} cannot be found")


def _places(value: FunctionType | type) -> Iterator[tuple[str, int | None]]:
    """Files, and lines in them, where a definition may stand: a notebook cell is known by the code made from it."""
    for part in [value] if isinstance(value, FunctionType) else vars(value).values():
        if isinstance(part, FunctionType) and part.__module__ == value.__module__:
            yield part.__code__.co_filename, part.__code__.co_firstlineno
    if path := getattr(sys.modules[value.__module__], "__file__", None):
        yield path, None


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError:  # not Python: a method that some library has made
        return ast.Module([], [])


def _global_names(text: str) -> set[str]:
    """Names that a definition takes from outside of itself."""

    def within(table: symtable.SymbolTable) -> Iterator[str]:
        yield from (s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced())
        for child in table.get_children():
            yield from within(child)

    return set(within(symtable.symtable(text, "<plugin>", "exec")))


def _import(name: str, value: Any) -> str | None:
    """The import that gives a name its value, if there is one."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__}" if value.__name__ == name else f"import {value.__name__} as {name}"
    if name in bench.EXPORTS and getattr(bench, name) is value:
        return f"from bench import {name}"
    module, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(own, str) or module == "__main__":
        return None
    if getattr(sys.modules.get(module), own, None) is not value:
        return None
    return f"from {module} import {own}" if own == name else f"from {module} import {own} as {name}"


def _constant(value: Any) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_constant, value))
    if isinstance(value, dict):
        return all(_constant(part) for pair in value.items() for part in pair)
    return type(value) in CONSTANTS


def _put_into_a_file(cls: type, why: str) -> UsageError:
    return UsageError(
        f"{cls.__name__} cannot be handed to another process: {why}; put it into a file of its own, mine.py, and pass "
        "its name and plugins=['mine.py']"
    )
