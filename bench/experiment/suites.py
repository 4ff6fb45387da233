"""Suite files: the cells that a TOML file names."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.errors import UsageError, unknown
from bench.experiment.cells import AXES, DEFAULTS, SIZES, Cell, Trial, _choose, _seeds, cells, trials
from bench.plugins.registry import Registry
from bench.system.paths import suites_dir

# What a suite has kept in its records of the first seed.
KEPT = ("samples", "answers")


def from_suite(
    registry: Registry, name: str, *, sealed: bool = False, attacks: Sequence[str] | None = None
) -> list[Cell]:
    """Cells of a TOML file: top-level axes and sizes are defaults for every [[cells]] table.

    `attacks` take the place of those that the file names, in the tables whose kind of data they work on.
    """
    found: list[Cell] = []
    tables, suite = _tables(name, {*AXES, *SIZES, *KEPT})
    for table in tables:
        axes = {key: _listed(table[key]) for key in AXES if key in table}
        if attacks:
            axes["attack"] = _fitting(registry, attacks, axes.get("dataset") or DEFAULTS["dataset"], sealed)
            if not axes["attack"]:
                continue
        # Of the first seed only: other seeds draw other sentences, and records are no place for a data set.
        kept = {_seeds(axes)[0]: {key: table[key] for key in KEPT if key in table}}
        some = cells(registry, axes, {key: table.get(key) for key in SIZES}, sealed=sealed)
        found += [dataclasses.replace(cell, suite=suite, **kept.get(cell.seed, {})) for cell in some]
    if not found and attacks:
        raise UsageError(f"suite {name} has no cell for {', '.join(attacks)}: its data are of another kind")
    if not found:
        raise UsageError(f"suite {name} names no cells: it needs [[cells]] tables, or none at all")
    return found


def _fitting(registry: Registry, attacks: Sequence[str], datasets: Sequence[str], sealed: bool) -> list[str]:
    kinds = {kind for name in datasets for kind in _choose(registry, "dataset", name).info.on}
    on = {spec: _choose(registry, "attack", spec, stranger=sealed).info.on for spec in attacks}
    return [spec for spec in attacks if kinds <= set(on[spec])]


def trials_from_suite(registry: Registry, name: str) -> list[tuple[Trial, int | None]]:
    """Trials of a TOML file that names no attack, each with the epochs to train it for, where the file says so."""
    found: list[tuple[Trial, int | None]] = []
    tables, suite = _tables(name, {*AXES, "train_epochs"} - {"attack"})
    for table in tables:
        axes = {key: _listed(table[key]) for key in AXES if key in table}
        some = [dataclasses.replace(trial, suite=suite) for trial in trials(registry, axes)]
        found += [(trial, table.get("train_epochs")) for trial in some]
    return found


def _tables(name: str, known: set[str]) -> tuple[list[dict[str, Any]], tuple[str, int]]:
    """The tables of a suite with its defaults filled in, and what the suite is called in records."""
    path = find_suite(name)
    try:
        suite = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file ({error})") from error
    tables = suite.pop("cells", [{}])
    common = {key: value for key, value in suite.items() if key not in ("name", "version", "title", "differs")}
    merged = [{**common, **table} for table in tables]
    for key in (key for table in merged for key in table):
        if key not in known:
            raise unknown(f"key in suite {path.name}", key, known)
    version = suite.get("version", 1)
    if not isinstance(version, int) or version < 1:
        raise UsageError(f"{path}: version = {version!r}: a whole number from 1 on was expected")
    return merged, (path.stem, version)


def find_suite(name: str) -> Path:
    for path in (Path(name), suites_dir() / f"{name}.toml"):
        if path.is_file():
            return path
    raise unknown("suite", name, suites())


def suites() -> dict[str, str]:
    """Names of the suites that come with the project, with their titles."""
    found = {}
    for path in sorted(suites_dir().glob("*.toml")):
        found[path.stem] = str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))
    return found


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
