"""Which source files a plugin's numbers depend on, and a hash of them.

Found by reading imports, not by importing: a change to a module that is used runs the cell again, a change to an
unrelated attack does not. Only this project's modules and the plugin's own package count; libraries are recorded by
version instead.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from bench import EXPORTS, IN_CHECKOUT, ROOT
from bench.plugins import source

PACKAGE = Path(__file__).resolve().parent.parent


def fingerprint(modules: Iterable[str | Path]) -> str:
    """One hash over these modules (dotted names or files) and all that they import, however indirectly."""
    seen: dict[str, Path] = {}
    todo = [_start(module) for module in modules]
    while todo:
        name, path = todo.pop()
        if name not in seen:
            seen[name] = path
            todo += [(n, p) for n in _imports(name, path) if (p := _locate(n, name)) is not None]
    # By name, not by path: the same code in a checkout and in a wheel is the same code.
    text = "\n".join(f"{name}:{hashlib.sha256(seen[name].read_bytes()).hexdigest()}" for name in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _start(module: str | Path) -> tuple[str, Path]:
    if isinstance(module, Path):
        # Two files of one name are two plugins.
        return f"{module.stem}@{hashlib.sha256(module.read_bytes()).hexdigest()[:8]}", module
    path = _locate(module, module)
    if path is None:
        raise ModuleNotFoundError(module)
    return module, path


@cache
def _locate(name: str, user: str) -> Path | None:
    """The file of a module that counts, or None for a library's."""
    top = name.split(".")[0]
    if top == "bench":
        parts = name.split(".")[1:]
        for home in (PACKAGE, ROOT) if IN_CHECKOUT else (PACKAGE,):
            for path in (home.joinpath(*parts).with_suffix(".py"), home.joinpath(*parts, "__init__.py")):
                if parts and path.is_file():
                    return path
        return None
    if top != user.split(".")[0]:
        return None
    try:
        return source.locate(name)  # without importing anything: the code may be a stranger's
    except source.Unreadable:  # `from pkg.helper import f`: the name may be a function, not a module
        return None


@cache
def _imports(name: str, path: Path) -> tuple[str, ...]:
    return tuple(sorted(set(_named(ast.parse(path.read_text(encoding="utf-8")), name, path))))


def _named(tree: ast.AST, name: str, path: Path) -> Iterator[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in _walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from bench import Guess` uses the module behind the name, `from .x import y` may name a module.
                yield (
                    EXPORTS.get(alias.name, f"bench.{alias.name}") if module == "bench" else f"{module}.{alias.name}"
                )
            if module != "bench":
                yield module


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
            yield child
            yield from _walk(child)
