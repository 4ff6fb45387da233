"""The reference of the Python API, made from the code: every name that `import bench` offers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import bench
from bench.plugins.source import explained

# Every name belongs under one of these; the site is not built if one is missing.
GROUPS = {
    "Experiments": ("run", "utility", "audit", "evaluate", "report", "compare"),
    "Results": ("Results", "load", "show", "verify", "rescore", "leaderboard", "scene", "Scene"),
    "Plugins": ("attack", "defense", "dataset", "encoder", "Protocol", "UpdateProtocol"),
    "What plugins handle": (
        *("Examples", "Corpus", "Release", "Key", "View", "Guess", "Written", "Reading", "Readings", "Floats", "Ints"),
    ),
    "Mathematics for plugins": ("mixing", "privacy", "search"),
    "Errors": ("BenchError", "UsageError", "DataError"),
}
TITLE = """# Python API

Made from the code when the site is built: the names that `import bench` offers. [python.md](../python.md) shows them at
work, and `help(bench.run)` prints the same in Python.
"""


def page() -> str:
    grouped = [name for names in GROUPS.values() for name in names]
    if odd := {*grouped} ^ {*bench.EXPORTS}:
        raise ValueError(f".ci/api_reference.py: in one of GROUPS and bench.EXPORTS only: {', '.join(sorted(odd))}")
    lines = [TITLE]
    for title, names in GROUPS.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += _entry(name)
    return "\n".join(lines)


def _entry(name: str) -> Iterator[str]:
    found = getattr(bench, name)
    yield from (f"### bench.{name} {{ #{name} }}", "")
    if isinstance(found, ModuleType):
        yield from (_text(found), "")
        for member in _functions(found):
            yield from _code(member.__name__, member)
            yield from (_text(member), "")
    elif inspect.isclass(found) and not hasattr(found, "__origin__"):
        if not issubclass(found, Exception):
            yield from _code(name, found)
        yield from (_text(found), "")
        yield from _members(found)
    elif inspect.isfunction(found):
        yield from _code(f"bench.{name}", found)
        yield from (_text(found), "")
    else:  # a type's other name
        yield from ("```python", f"{name} = {found}".replace("numpy.", "np."), "```", "")


def _functions(module: ModuleType) -> list[Any]:
    """Public ones that are written there, in the order of the file."""
    some = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
    return sorted((f for f in some if not f.__name__.startswith("_")), key=lambda f: f.__code__.co_firstlineno)


def _members(cls: type) -> Iterator[str]:
    """Fields with what is said of them, then properties and methods of the class itself."""
    said = explained(Path(inspect.getfile(cls)), cls.__name__)
    rows = [f"| `{name}` | {_cell(text)} |" for name, text in said.items() if text and not name.startswith("_")]
    for name, member in vars(cls).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            given = "" if isinstance(member, property) else _plain(_signature(member, method=True))
            rows.append(f"| `{name}{given}` | {_cell(inspect.getdoc(member) or '')} |")
    if rows:
        yield from ("| | |", "| --- | --- |", *rows, "")


def _code(name: str, found: Any) -> Iterator[str]:
    """The signature, a parameter a line where one line is too long."""
    signature = _signature(found)
    given = _plain(signature)
    if len(name + given) > 100:
        parts = [_plain(p) for p in signature.parameters.values()]
        kinds = [p.kind for p in signature.parameters.values()]
        if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
            parts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
        end = given.rpartition(")")[2]
        given = "(\n" + "".join(f"    {part},\n" for part in parts) + ")" + end
    yield from ("```python", name + given, "```", "")


class _Written(str):
    """An annotation as it is written, without the quotes of a string."""

    def __repr__(self) -> str:
        return str(self)


def _signature(found: Any, *, method: bool = False) -> inspect.Signature:
    signature = inspect.signature(found)
    public = (p for p in signature.parameters.values() if not p.name.startswith("_"))
    given = [p.replace(annotation=_written(p.annotation)) for p in public]
    return signature.replace(
        parameters=given[1:] if method else given, return_annotation=_written(signature.return_annotation)
    )


def _written(annotation: Any) -> Any:
    return _Written(annotation) if isinstance(annotation, str) else annotation


def _plain(text: object) -> str:
    """Without what is a matter of this machine or of no use to a reader."""
    return str(text).replace("<factory>", "…").replace("PosixPath('results')", "'results'")


def _text(found: Any) -> str:
    return inspect.getdoc(found) or ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
