"""The conformance suite: what must hold for a plugin to be run beside the others, as a checklist for its reviewer.

`check` is what authors call from their own tests; `bench plugin check` prints the same. This module finds the plugin
and checks what it says of itself; how it behaves is checked per kind, in attack.py and so on.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from bench import __version__
from bench.errors import BenchError, UsageError, unknown
from bench.plugins import options, source
from bench.plugins.registry import Entry, Registry

PASSED, FAILED, NOTED = "✓", "✗", "–"
# Kinds whose ideas come from somewhere; a data set or an encoder may be its author's own.
CITED = ("attack", "defense")


@dataclass(frozen=True)
class CheckResult:
    """One item of the checklist: it holds, it does not, or it does not apply (or is worth knowing)."""

    mark: str
    what: str
    reason: str = ""

    def __str__(self) -> str:
        return f"- {self.mark} {self.what}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class CheckSettings:
    """How to check; `budget` is in seconds, for each thing that the plugin is asked to do."""

    budget: float = 60.0
    defenses: tuple[str, ...] = ()
    """what an attack is run on; empty for every defense of the project"""


@dataclass(frozen=True)
class Report:
    title: str
    lines: tuple[CheckResult, ...]

    @property
    def ok(self) -> bool:
        return all(line.mark != FAILED for line in self.lines)

    def __str__(self) -> str:
        return "\n".join([heading(self.title), *map(str, self.lines), summary(self.lines)])


@dataclass(frozen=True)
class CheckTarget:
    """A plugin to be checked: `spec` is its name with the options it is checked with."""

    registry: Registry
    entry: Entry
    spec: str

    @property
    def title(self) -> str:
        return f"{self.entry.kind} {self.spec}"


def check(
    plugin: str, *, files: Sequence[str] = (), budget: float = CheckSettings.budget, defenses: Sequence[str] = ()
) -> Report:
    """The report on one plugin: a name, with options if wanted, or a file that holds one plugin.

    `defenses` are those that an attack is run on, if not all of the project.
    """
    (target, *more) = targets(plugin, files)
    if more:
        raise UsageError(f"{plugin} stands for {1 + len(more)} plugins: check them by name, {target.spec!r} first")
    return Report(target.title, tuple(run_checks(target, CheckSettings(budget, tuple(defenses)))))


def targets(word: str, files: Sequence[str] = ()) -> list[CheckTarget]:
    """What NAME, FILE or PACKAGE stands for."""
    if word.endswith(".py"):
        registry = Registry((*files, word))
        path = Path(word).resolve()
        try:
            source.read(path, str(path))
        except source.Unreadable as error:
            if path.is_file():  # what is wrong with a file that is there is the report's to say
                broken = Entry("file", path.name, str(path), "", str(path), broken=str(error))
                return [CheckTarget(registry, broken, path.name)]
        return [CheckTarget(registry, entry, entry.name) for entry in registry.all() if entry.module == str(path)]
    registry = Registry(tuple(files))
    name, _ = options.split(word)
    found = [CheckTarget(registry, entry, word) for entry in registry.all() if entry.name == name]
    if found:
        return found
    try:
        package = distribution(word).name
    except (PackageNotFoundError, ValueError):
        if (Path(word) / "pyproject.toml").is_file():
            raise UsageError(f"{word} is a folder: install it (pip install -e {word}), and name its plugin") from None
        names = {entry.name for entry in registry.all()} | {e.package for e in registry.all() if e.package}
        raise unknown("plugin, file or package", word, names) from None
    found = [CheckTarget(registry, entry, entry.name) for entry in registry.all() if entry.package == package]
    if not found:
        raise UsageError(f"package {package} announces no plugin: add an entry point in the group bench.attacks")
    return found


def run_checks(target: CheckTarget, settings: CheckSettings) -> Iterator[CheckResult]:
    """The checklist, item by item as it is worked off. Only a wrong call raises; a wrong plugin is a line."""
    entry = target.entry
    try:
        if entry.broken:
            raise UsageError(entry.broken)
        # Through `get`: a name that another plugin has already is an error there, as it would be in a run.
        target.registry.get(entry.kind, entry.name)
        cls = entry.load()
    except UsageError as error:
        yield failed("imports", str(error))
        return
    from bench.experiment.cells import Chosen

    chosen = Chosen(entry, target.registry.make(entry.kind, target.spec))
    yield passed("imports", f"from {entry.where}")
    yield from documented(cls)
    yield from import_module(f"bench.conformance.{entry.kind}").run_checks(chosen, target, settings)


def documented(cls: Any) -> Iterator[CheckResult]:
    """Docstring, paper, and a word on every option."""
    info = cls.__plugin__
    own, described = _written(cls)
    yield (
        passed("docstring", textwrap.shorten(own, 100))
        if own
        else failed("docstring", "say in one sentence below the class line what it does")
    )
    if info.paper:
        yield passed("paper", info.paper)
    elif info.kind in CITED:
        yield failed("paper", f"name where it is from: @{info.kind}(..., paper=...), or paper='unpublished'")
    fields = [f.name for f in dataclasses.fields(cls) if f.init]
    silent = [name for name in fields if name not in described]
    if silent:
        yield failed("options", f"write a string below {', '.join(silent)} that says what it means")
    elif fields:
        yield passed("options", ", ".join(fields))


def _written(cls: type) -> tuple[str, set[str]]:
    """The class's own docstring, and its options that a string below them or a docstring explains.

    From the source: a dataclass without a docstring is given its signature for one.
    """
    own, described = "", set()
    for base in cls.__mro__[:-1]:
        try:
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError, ValueError):  # made at run time, or compiled
            continue
        assert isinstance(node, ast.ClassDef)
        text = ast.get_docstring(node) or ""
        own = own or (text if base is cls else "")
        described |= {name for name in base.__annotations__ if name in text.replace(":", " ").replace("`", " ").split()}
        for field, below in zip(node.body, node.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                described.add(ast.unparse(field.target))
    return own, described


def heading(title: str) -> str:
    return f"### {title} (hideseek {__version__})\n"


def summary(found: Sequence[CheckResult]) -> str:
    count = {mark: sum(line.mark == mark for line in found) for mark in (PASSED, FAILED, NOTED)}
    return (
        f"\n{count[PASSED]} passed, {count[FAILED]} failed, {count[NOTED]} {'note' if count[NOTED] == 1 else 'notes'}"
    )


def describe_error(error: BaseException) -> str:
    """An exception as a reason on one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, BenchError) else f"{type(error).__name__}: {text}"


def passed(what: str, reason: str = "") -> CheckResult:
    return CheckResult(PASSED, what, reason)


def failed(what: str, reason: str) -> CheckResult:
    return CheckResult(FAILED, what, reason)


def noted(what: str, reason: str) -> CheckResult:
    """Does not apply, or is worth knowing; not held against the plugin."""
    return CheckResult(NOTED, what, reason)


def verdict(what: str, ok: bool, reason: str, otherwise: str) -> CheckResult:
    return passed(what, reason) if ok else failed(what, otherwise)
