"""What a number depends on: a hash over the definitions that are reachable from a component's entry points.

A definition is a function, a class or a constant at the top level of a module. It counts as its syntax tree, without
what cannot change a number: comments, docstrings, annotations, imports, the texts of raised errors, the titles of
metrics, its own name and the module that it stands in. A reference to another definition counts as that definition,
so moving or renaming one changes no hash, and changing a constant or a default does. Code is read, never imported: it
may be a stranger's.

Only the code that can decide a number is followed (the modules in `counted`, and a plugin's own package). What else
of this project is referred to counts as one word, and a library's function as its dotted name; libraries are recorded
by version instead.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.records.bindings import (
    COMPREHENSIONS,
    SCOPES,
    ImportTarget,
    Module,
    argument_names,
    bound_names,
    does_nothing,
    dotted,
    local_names,
    read_module,
)

Locate = Callable[[str], Path | None]
"""the file of a module of this project or of a plugin, by its dotted name; None for a library's"""

# Keywords of a function's decorator that say how it is shown (bench.scoring.table).
_DISPLAYED = frozenset(["title", "order", "share"])
_IGNORED = frozenset(["annotation", "returns", "type_comment", "ctx", "kind", "type_params", "type_ignores", "simple"])


@dataclass(frozen=True)
class Reference:
    """A top-level name of a module."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True)
class Reader:
    """Reads definitions from source files, each once."""

    locate: Locate
    counted: tuple[str, ...]
    """modules, packages or `module:name` whose definitions are followed"""
    exports: dict[str, str] = field(default_factory=dict, hash=False)
    """names that the package `bench` hands on, with the modules that define them"""
    _modules: dict[str, Module | None] = field(default_factory=dict, hash=False, compare=False)
    _trees: dict[Reference, Any] = field(default_factory=dict, hash=False, compare=False)

    def fingerprint(self, entries: Iterable[str]) -> str:
        """One hash over the definitions that these (`module:name`) reach, however indirectly."""
        found = self.reachable(entries)
        order = {reference: i for i, reference in enumerate(found)}
        trees = [_numbered(tree, order) for tree in found.values()]
        return hashlib.sha256(json.dumps(trees).encode()).hexdigest()[:16]

    def reachable(self, entries: Iterable[str]) -> dict[Reference, Any]:
        """The definitions, in the order in which they are met, each with its tree."""
        found: dict[Reference, Any] = {}
        todo = [self._entry(entry) for entry in entries]
        while todo:
            reference = todo.pop(0)
            if reference not in found:
                found[reference] = self._tree(reference)
                todo += _references(found[reference])
        return found

    def _entry(self, text: str) -> Reference:
        module, _, name = text.rpartition(":")
        found = self._follow(ImportTarget(module, name))
        if not isinstance(found, Reference):
            raise LookupError(f"{text}: there is no such definition")
        return found

    def _tree(self, reference: Reference) -> Any:
        if reference not in self._trees:
            module = self._module(reference.module)
            assert module is not None
            context = _Context(self, reference.module, module)
            self._trees[reference] = [
                context.definition(node, reference.name) for node in module.statements[reference.name]
            ]
        return self._trees[reference]

    def _module(self, name: str) -> Module | None:
        if name not in self._modules:
            path = self.locate(name)
            self._modules[name] = None if path is None else read_module(path, name)
        return self._modules[name]

    def _follow(self, target: ImportTarget) -> Reference | ImportTarget | None:
        """The definition behind a name, through modules that hand it on; a module; or a library's name."""
        for _ in range(20):
            if target.module == "bench" and target.name in self.exports:
                place = self.exports[target.name]
                target = ImportTarget(place) if place.endswith(f".{target.name}") else ImportTarget(place, target.name)
            if not target.name:
                return target
            module = self._module(target.module)
            if module is None:
                return target
            if target.name in module.statements:
                return Reference(target.module, target.name)
            if target.name in module.imports:
                target = module.imports[target.name]
                continue
            inner = f"{target.module}.{target.name}"
            return ImportTarget(inner) if self._module(inner) is not None else target
        return target

    def counts(self, reference: Reference) -> bool:
        return str(reference) in self.counted or any(
            reference.module == place or reference.module.startswith(f"{place}.") for place in self.counted
        )


class _Context:
    """Turns the definitions of one module into plain lists, with references in place of names."""

    def __init__(self, reader: Reader, name: str, module: Module):
        self._reader, self._name, self._module = reader, name, module
        self._scopes: list[dict[str, ImportTarget | None]] = []

    def definition(self, node: ast.stmt, name: str) -> Any:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return self._node(node, named=False)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        places = [i for target in targets for i, bound in enumerate(bound_names(target)) if bound == name]
        value = getattr(node, "value", None)
        return [type(node).__name__.replace("AnnAssign", "Assign"), places, self._value(value)]

    def _value(self, value: Any) -> Any:
        if isinstance(value, ast.AST):
            return self._node(value)
        if isinstance(value, list):
            kept = [item for item in value if not does_nothing(item)]
            return [self._value(item) for item in kept]
        if isinstance(value, str | int | float | bool | None.__class__):
            return value
        return repr(value)

    def _node(self, node: ast.AST, *, named: bool = True) -> Any:
        if isinstance(node, ast.Name):
            return self._name_of(node.id)
        if isinstance(node, ast.Attribute):
            chain = self._chain(node)
            return chain if chain is not None else ["Attribute", self._node(node.value), node.attr]
        if isinstance(node, ast.Raise):  # what is said is for people; that something is raised counts
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            return ["Raise", None if error is None else self._node(error)]
        if isinstance(node, ast.Assert):
            return ["Assert", self._node(node.test)]
        if isinstance(node, ast.AnnAssign):
            return ["Assign", [self._node(node.target)], self._value(node.value)]
        if isinstance(node, SCOPES):
            return self._function(node, named)
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node)
        if isinstance(node, ast.ClassDef):
            return self._class(node, named)
        fields = [[name, self._value(value)] for name, value in ast.iter_fields(node) if name not in _IGNORED]
        return [type(node).__name__, *fields]

    def _function(self, node: Any, named: bool) -> Any:
        decorators = [_without_display(decorator) for decorator in getattr(node, "decorator_list", [])]
        outside = [self._value(decorators), self._defaults(node.args)]
        names: dict[str, ImportTarget | None] = dict.fromkeys(argument_names(node.args))
        body = node.body if isinstance(node.body, list) else [node.body]
        names |= local_names(body, self._module.package)
        self._scopes.append(names)
        inside = self._value(node.body)
        self._scopes.pop()
        name = getattr(node, "name", "") if named else ""
        return ["Function", name, argument_names(node.args), outside, inside]

    def _defaults(self, arguments: ast.arguments) -> Any:
        return [self._value(arguments.defaults), self._value(arguments.kw_defaults)]

    def _class(self, node: ast.ClassDef, named: bool) -> Any:
        outside = [self._value(node.decorator_list), self._value(node.bases), self._value(node.keywords)]
        # Names of a class body are seen in that body, and not in its methods.
        self._scopes.append(local_names(node.body, self._module.package))
        body = []
        for item in node.body:
            if does_nothing(item):
                continue
            if isinstance(item, SCOPES):
                names = self._scopes.pop()
                body.append(self._node(item))
                self._scopes.append(names)
            else:
                body.append(self._node(item))
        self._scopes.pop()
        return ["Class", node.name if named else "", outside, body]

    def _comprehension(self, node: Any) -> Any:
        first = self._value(node.generators[0].iter)
        names = [name for part in node.generators for name in bound_names(part.target)]
        self._scopes.append(dict.fromkeys(names))
        parts = [[self._value(p.target), self._value(p.iter), self._value(p.ifs), p.is_async] for p in node.generators]
        made = [self._value(getattr(node, name)) for name in ("elt", "key", "value") if hasattr(node, name)]
        self._scopes.pop()
        return [type(node).__name__, first, parts, made]

    def _target(self, name: str) -> ImportTarget | str | None:
        """What a name stands for here: an import, something of this module, or a word."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name] or name
        if name in self._module.statements:
            return ImportTarget(self._name, name)
        return self._module.imports.get(name, name)

    def _name_of(self, name: str) -> Any:
        target = self._target(name)
        if isinstance(target, str):
            return ["Name", name]
        assert target is not None
        return self._told(self._reader._follow(target))

    def _chain(self, node: ast.Attribute) -> Any:
        """`module.name` and `package.module.name`, where the first word is an imported module; None for all others."""
        words = [node.attr]
        inner: ast.AST = node.value
        while isinstance(inner, ast.Attribute):
            words.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or isinstance(target := self._target(inner.id), str):
            return None
        assert target is not None
        place: Any = self._reader._follow(target)
        rest = words[::-1]
        while rest and isinstance(place, ImportTarget):
            place = self._reader._follow(ImportTarget(dotted(place), rest[0]))
            rest = rest[1:]
        said = self._told(place)
        for word in rest:
            said = ["Attribute", said, word]
        return said

    def _told(self, found: Reference | ImportTarget | None) -> Any:
        if isinstance(found, Reference):
            return found if self._reader.counts(found) else ["Project"]
        assert found is not None
        if self._reader._module(found.module) is not None:  # a module of this project, as a value
            return ["Project"]
        return ["Library", dotted(found)]


def _without_display(decorator: ast.expr) -> ast.expr:
    """A function's decorator without what it only tells readers, such as the title of a metric."""
    if not isinstance(decorator, ast.Call):
        return decorator
    return ast.Call(decorator.func, decorator.args, [k for k in decorator.keywords if k.arg not in _DISPLAYED])


def _references(tree: Any) -> Iterator[Reference]:
    if isinstance(tree, Reference):
        yield tree
    elif isinstance(tree, list):
        for item in tree:
            yield from _references(item)


def _numbered(tree: Any, order: dict[Reference, int]) -> Any:
    """The tree with the place of each definition in the order of discovery, whatever it is called."""
    if isinstance(tree, Reference):
        return ["Definition", order[tree]]
    return [_numbered(part, order) for part in tree] if isinstance(tree, list) else tree
