"""Reads a plugin's source without importing it: which plugins a file holds, and what keeps them from being imported.

Listing must be quick and must not run strangers' code, so all of this is `ast` and the import system's finders. What
only shows when the code runs, such as an exception on line 3, shows when the plugin is used or checked.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path

from bench import EXPORTS
from bench.plugins.decorators import KINDS
from bench.plugins.names import cut

PACKAGE = Path(__file__).resolve().parent.parent


class Unreadable(Exception):
    """The source is not there, or is not Python."""


@dataclass(frozen=True)
class Found:
    """A decorated class, as far as its source tells."""

    kind: str
    name: str
    cls: str
    summary: str = ""
    options: dict[str, str] = field(default_factory=dict)
    explained: dict[str, str] = field(default_factory=dict)
    """what its docstring and its type say of each option"""
    sees: tuple[str, ...] = ()
    """what an attack is given; empty where the source does not say it in plain words"""
    paper: str = ""


@dataclass(frozen=True)
class Source:
    path: Path
    plugins: tuple[Found, ...]
    names: frozenset[str]
    """what the module binds at its top level"""
    missing: str
    """why an import of this module would fail; empty if nothing speaks against it"""


def read(path: Path, module: str) -> Source:
    """`module` is the importable name, or the path once more for a file that stands alone."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        return Source(path, tuple(_plugins(tree)), frozenset(_names(tree)), _missing(tree, path, module))
    except (SyntaxError, ValueError) as error:  # ValueError: not UTF-8, or a NUL byte
        raise Unreadable(f"cannot be read: {cut(error)}") from error
    except (RecursionError, MemoryError) as error:
        raise Unreadable("cannot be read: it is nested too deeply") from error
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from error


def locate(module: str) -> Path | None:
    """The file of a module, without importing it or a package it lies in; None if it has no Python source."""
    parts = module.split(".")
    spec = _top(parts[0])
    for end in range(2, len(parts) + 1):
        within = spec.submodule_search_locations if spec else None
        spec = _inside(".".join(parts[:end]), list(within)) if within else None
    if spec is None:
        raise Unreadable(f"there is no module {module!r}")
    return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None


def _top(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)  # of a top-level name: imports nothing
    except ValueError:  # a module that was put together by hand, such as __main__
        return ModuleSpec(name, None)


def _inside(name: str, folders: list[str]) -> ModuleSpec | None:
    # importlib.util.find_spec would import the package around it; asking the finders does not.
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, folders, None) if find else None
        if spec is not None:
            return spec
    return None


def _plugins(tree: ast.Module) -> Iterator[Found]:
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in classes.values():
        for mark in node.decorator_list:
            if not (isinstance(mark, ast.Call) and mark.args and isinstance(mark.args[0], ast.Constant)):
                continue
            word = mark.func.attr if isinstance(mark.func, ast.Attribute) else getattr(mark.func, "id", "")
            if word in KINDS:
                summary = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
                fields = _fields(node, classes)
                defaults = {name: default for name, (default, _) in fields.items()}
                said = {name: text for name, (_, text) in fields.items()}
                name, sees, paper = str(mark.args[0].value), _told(mark, "sees", tree), _told(mark, "paper", tree)
                seen = sorted(map(cut, sees)) if isinstance(sees, set) and all(isinstance(w, str) for w in sees) else []
                source = cut(paper) if isinstance(paper, str) else ""
                yield Found(word, name, node.name, cut(summary), defaults, said, tuple(seen), source)


def _told(mark: ast.Call, keyword: str, tree: ast.Module) -> object:
    """The value of a decorator's argument, if it stands there, or under a name of this module, as a literal."""
    given = next((one.value for one in mark.keywords if one.arg == keyword), None)
    if isinstance(given, ast.Name):
        named = [node.value for node in tree.body if isinstance(node, ast.Assign) and _binds(node, given.id)]
        given = named[-1] if named else None
    if given is None:
        return None
    try:
        value: object = ast.literal_eval(given)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def explained(path: Path, cls: str) -> dict[str, str]:
    """What the source says of each field of a class."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return {name: text for name, (_, text) in _fields(classes[cls], classes).items()}


def _fields(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> dict[str, tuple[str, str]]:
    """Options with their defaults and what is said of them, those that a class of the same file hands down included."""
    found: dict[str, tuple[str, str]] = {}
    # Without the class itself: one may have the name of an imported class that it stands on.
    others = {name: other for name, other in classes.items() if other is not node}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in others:
            found |= _fields(others[base.id], others)
    for item, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            if "ClassVar" in ast.unparse(item.annotation):  # a constant of the class, not an option
                found.pop(item.target.id, None)
                continue
            default = cut(ast.unparse(item.value)) if item.value else "(required)"
            found[item.target.id] = default, "; ".join(filter(None, (_choices(item.annotation), _below(after))))
    return found


def _choices(annotation: ast.expr) -> str:
    """`one of a, b`, of an option whose type is a Literal."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
            words = [str(one.value) for one in ast.walk(node.slice) if isinstance(one, ast.Constant)]
            whole = isinstance(annotation, ast.Subscript)
            return f"{'one of' if whole else 'or'} {', '.join(map(cut, words))}"
    return ""


def _below(node: ast.stmt | None) -> str:
    """The string that stands below a field."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return cut(" ".join(node.value.value.split()))
    return ""


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _missing(tree: ast.Module, path: Path, module: str) -> str:
    """Only imports that happen for certain count: those inside `try`, `if` or a function may have been thought of."""
    for node in tree.body:
        if isinstance(node, ast.Raise):
            return f"line {node.lineno} raises {cut(ast.unparse(node)[6:86])} when it is imported"
        if isinstance(node, ast.Import):
            wanted = [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            if reason := _missing_beside(node, path, module):
                return reason
            continue
        elif isinstance(node, ast.ImportFrom):
            wanted = [(node.module or "").split(".")[0]]
            if node.module == "bench":
                absent = [a.name for a in node.names if not _offered(a.name)]
                if absent:
                    return f"it imports {absent[0]!r} from bench, which this version does not have"
        else:
            continue
        for name in wanted:
            if name not in sys.stdlib_module_names and name not in sys.modules and _top(name) is None:
                return f"it imports {name!r}, which is not installed"
    return ""


def _missing_beside(node: ast.ImportFrom, path: Path, module: str) -> str:
    if module.endswith(".py"):
        return "it imports from '.', which a single file cannot: make it a package, or import by name"
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    if not base:
        return "it imports from beyond its own package"
    if node.module:
        try:
            locate(".".join([*base, node.module]))
        except Unreadable:
            return f"it imports {'.' * node.level}{node.module}, which is not there"
    return ""


def _offered(name: str) -> bool:
    return (
        name in EXPORTS
        or name.startswith("__")
        or name == "*"
        or any((PACKAGE / path).is_file() for path in (f"{name}.py", f"{name}/__init__.py"))
    )
