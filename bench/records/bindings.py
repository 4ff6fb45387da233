"""What the names of a Python source file stand for: definitions, imports, local names. Read as syntax, not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class ImportTarget:
    """What an import binds: a module, or a name in one."""

    module: str
    name: str = ""


@dataclass
class Module:
    package: str
    """the package that relative imports start from"""
    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    """the statements that bind a name, in order"""
    imports: dict[str, ImportTarget] = field(default_factory=dict)


def dotted(target: ImportTarget) -> str:
    return f"{target.module}.{target.name}" if target.name else target.module


def read_module(path: Path, name: str) -> Module:
    module = Module(name if path.name == "__init__.py" else name.rpartition(".")[0])
    _collect(ast.parse(path.read_text(encoding="utf-8")).body, module)
    return module


def _collect(body: Sequence[ast.stmt], module: Module) -> None:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports |= imported(node, module.package)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            module.statements.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in dict.fromkeys(bound for target in targets for bound in bound_names(target)):
                module.statements.setdefault(name, []).append(node)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                if not (part == "body" and _for_types(node)):
                    _collect(getattr(node, part, []), module)
            for handler in getattr(node, "handlers", []):
                _collect(handler.body, module)


def imported(node: ast.Import | ast.ImportFrom, package: str) -> dict[str, ImportTarget]:
    if isinstance(node, ast.Import):
        return {
            alias.asname or alias.name.split(".")[0]: ImportTarget(
                alias.name if alias.asname else alias.name.split(".")[0]
            )
            for alias in node.names
        }
    parts = package.split(".") if package else []
    base = parts[: len(parts) - node.level + 1] if node.level else []
    module = ".".join([*base, *([node.module] if node.module else [])])
    return {alias.asname or alias.name: ImportTarget(module, alias.name) for alias in node.names}


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def does_nothing(item: Any) -> bool:
    """A statement that does nothing: an import, a docstring, what only a type checker reads."""
    if isinstance(item, ast.Import | ast.ImportFrom | ast.Pass) or _for_types(item):
        return True
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def bound_names(target: Any) -> Iterator[str]:
    """Names that a target of an assignment binds, in order."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from bound_names(item)
    elif isinstance(target, ast.Starred):
        yield from bound_names(target.value)


def argument_names(arguments: ast.arguments) -> list[str]:
    some = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return [argument.arg for argument in some if argument is not None]


def local_names(body: Sequence[ast.AST], package: str) -> dict[str, ImportTarget | None]:
    """Names that a function or class body binds, with what its own imports bind them to."""
    found: dict[str, ImportTarget | None] = {}
    outer: set[str] = set()

    def walk(node: ast.AST) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(imported(node, package))
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.setdefault(node.name, None)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, ast.Global | ast.Nonlocal):
            outer.update(node.names)
            return
        if isinstance(node, COMPREHENSIONS):
            for inner in ast.walk(node):  # only := binds outside of it
                if isinstance(inner, ast.NamedExpr):
                    found.setdefault(inner.target.id, None)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.setdefault(node.id, None)
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.setdefault(node.name, None)
        for child in ast.iter_child_nodes(node):
            walk(child)

    for node in body:
        walk(node)
    return {name: target for name, target in found.items() if name not in outer}
