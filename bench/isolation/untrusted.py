"""Plugins whose code must not run in this process: their declarations are read in the sandbox.

Importing a file runs it. So in a sealed run the attack is imported in the sandbox only, also to learn what it declares
and whether its options are right; here a placeholder takes its place, with the same name, options and declaration.
`main` is the part that runs inside, by way of bench.isolation.start; it also runs `bench plugin check` there, with the
same limits.
"""

from __future__ import annotations

import dataclasses
import json
import os
import runpy
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.errors import BenchError, UsageError
from bench.isolation import sandbox, scope
from bench.isolation.watchdog import Watchdog
from bench.isolation.workspace import workspace
from bench.plugins import names, options
from bench.plugins.decorators import ON, SEES, Info, info
from bench.plugins.protocol import Protocol
from bench.plugins.registry import Entry, Registry
from bench.plugins.rounds import from_sizes
from bench.system import processes
from bench.system.text import printable

SECONDS = 120
MEMORY_MIB = 4096
LIMIT = 1 << 20
# Released items that a stranger's protocol may ask the parent to make: 600 MB of 768 dimensions.
ITEMS = 200_000
# Tensors of an update that an attack may ask for.
TENSORS = 20


def load_declaration(registry: Registry, kind: str, spec: str) -> Any:
    """What `registry.make` gives, without the plugin's code: good for everything but running it."""
    name, pairs = options.split(spec)
    entry = registry.get(kind, name)
    return _placeholder(entry, _declared(entry.kind, entry.name, entry.module, entry.cls, json.dumps(pairs)))


@lru_cache(maxsize=64)
def _declared(kind: str, name: str, module: str, cls: str, pairs: str) -> dict[str, Any]:
    inner = ["bench.isolation.untrusted", kind, name, module, cls, pairs]
    with workspace() as folder:
        command = sandbox.command(folder, sandbox.files_of(module), sandbox.environment(1), inner, MEMORY_MIB)
        status, said = run_logged(command, folder / "output.txt", SECONDS)
    if status is None:
        raise UsageError(f"{kind} {name!r} did not declare itself within {SECONDS} s")
    last = (said.strip().splitlines() or [""])[-1]
    try:
        declaration: dict[str, Any] = dict(json.loads(last))
    except (ValueError, TypeError, RecursionError):
        raise UsageError(
            f"{kind} {name!r} gives no valid declaration: {printable(last)[:300] or 'no output'}"
        ) from None
    if "error" in declaration:
        raise UsageError(printable(declaration["error"])[:1000])
    return declaration


def run_logged(command: list[str], log: Path, seconds: float) -> tuple[int | None, str]:
    """The status of a command in the sandbox, None if it took too long, and the end of what it printed.

    By way of a file, which the limits of the sandbox bound; a pipe would fill this process's memory.
    """
    with log.open("wb") as out:
        command, env = scope.around(command, MEMORY_MIB)
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, start_new_session=True
        )
        try:
            with Watchdog(process.pid, MEMORY_MIB, sealed=True) as watchdog:
                process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None, ""
        finally:
            processes.kill_session(process.pid)
            process.wait()
    if watchdog.reason:
        return process.returncode, watchdog.reason
    with log.open("rb") as out:
        out.seek(max(0, out.seek(0, os.SEEK_END) - LIMIT))
        return process.returncode, out.read().decode("utf-8", errors="replace")


def _placeholder(entry: Entry, declaration: dict[str, Any]) -> Any:
    """An instance of a class made here; of the plugin's answer only names, numbers and words of `sees` are taken."""
    try:
        sees = tuple(sorted(word for word in SEES if word in declaration["sees"]))
        on = tuple(word for word in ON if word in declaration["on"])
        stamp = Info(
            entry.kind,
            entry.name,
            names.cut(declaration["paper"]),
            sees,
            _protocol(**declaration["protocol"]),
            on=on,
            tensors=_tensors(declaration.get("tensors", ())),
        )
        if len(declaration["options"]) > names.OPTIONS:
            raise ValueError(f"{len(declaration['options']):,} options; at most {names.OPTIONS} are taken")
        values = {_name(name): _value(value) for name, value in declaration["options"].items()}
        fields = [(name, Any, dataclasses.field(default=_value(declaration["defaults"].get(name)))) for name in values]
        cls = dataclasses.make_dataclass(entry.cls, fields, frozen=True)
        cls.__plugin__ = stamp  # type: ignore[attr-defined]
        return cls(**values)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, BenchError) as error:
        said = printable(error)[:300]
        raise UsageError(f"{entry.kind} {entry.name!r} gives no valid declaration: {said}") from error


def _protocol(**declared: Any) -> Protocol:
    """Whole numbers where whole numbers belong: to NaN, which JSON brings along, no comparison objects."""
    for name in ("examples", "epochs", "candidates"):
        value = declared.get(name, 1)
        if type(value) is not int and (value is not None or name != "candidates"):
            raise ValueError(f"protocol: {name} is not a whole number")
    if type(declared.get("coverage", 1)) not in (int, float):
        raise ValueError("protocol: coverage is not a number")
    if type(declared.get("batch", 1)) is not int or type(declared.get("update", "")) is not str:
        raise ValueError("protocol: batch is not a whole number, or update no text")
    found = from_sizes(declared)
    if found.examples * found.epochs > ITEMS:
        raise ValueError(f"protocol: {found.examples} examples in {found.epochs} epochs are more than {ITEMS:,} items")
    return found


def _tensors(declared: Any) -> tuple[str, ...]:
    if len(declared) > TENSORS or not all(isinstance(name, str) and len(name) <= 60 for name in declared):
        raise ValueError(f"tensors: at most {TENSORS} names were expected")
    return tuple(declared)


def _name(text: str) -> str:
    if not names.is_option(text):
        raise ValueError(f"{text[:40]!r} is no name for an option")
    return text


def _value(value: Any) -> Any:
    """What an option may hold; lists as tuples, because a dataclass takes no list for a default."""
    if isinstance(value, list):
        return tuple(_value(item) for item in value)
    if isinstance(value, str):
        if len(value) > 2000 or value != printable(value):
            raise ValueError("an option holds a text that is too long, or breaks lines")
        return value
    if value is None or isinstance(value, bool | int | float):
        return value
    raise TypeError(f"an option holds a {type(value).__name__}")


def main() -> None:
    """In the sandbox: import the plugin, make it, and print its declaration as JSON; or check it."""
    if sys.argv[1] == "check":
        sys.argv[:] = ["bench", "plugin", *sys.argv[1:]]
        runpy.run_module("bench", run_name="__main__")  # ends with an exit status
    kind, name, module, cls, pairs = sys.argv[1:]
    declaration: dict[str, Any]
    try:
        plugin = options.build(Entry(kind, name, module, cls, module).load(), json.loads(pairs), f"{kind} {name}")
        said = info(plugin)
        declaration = {
            "sees": said.sees,
            "on": said.on,
            "paper": said.paper,
            "tensors": said.tensors,
            "protocol": said.protocol.as_dict(),
            "options": dataclasses.asdict(plugin),
            "defaults": {f.name: f.default for f in dataclasses.fields(plugin) if f.default is not dataclasses.MISSING},
        }
        json.dumps(declaration)
    except (Exception, SystemExit) as error:
        declaration = {"error": str(error) if isinstance(error, BenchError) else f"{kind} {name}: {error!r}"}
    print(f"\n{json.dumps(declaration)}", flush=True)
