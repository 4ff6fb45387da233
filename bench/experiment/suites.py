"""Suites: the cells and trials that a TOML file names (its form is in bench.experiment.suite_file)."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.errors import UsageError, unknown
from bench.experiment.cells import AXES, DEFAULTS, SIZES, Cell, Trial, cells, choose, trials
from bench.plugins.registry import Registry
from bench.system.paths import suites_dir

# What a suite has kept in its records of the first seed.
KEPT = ("samples", "answers")
# What a suite of audits may say of its games.
AUDIT_SIZES = ("examples", "canaries", "epochs", "trials")
# What a suite for submissions says, whatever protocol an attack declares.
FIXED = ("examples", "epochs", "candidates", "coverage", "split")


def from_suite(
    registry: Registry, name: str, *, sealed: bool = False, attacks: Sequence[str] | None = None
) -> list[Cell]:
    """The cells of a suite.

    `attacks` take the place of those that the file names, in the tables whose kind of data they work on.
    """
    from bench.experiment.suite_file import read_attacks  # pydantic, which `bench list` can do without

    suite = read_attacks(find_suite(name))
    if suite.tables and not attacks and not any("attack" in table.model_fields_set for table in suite.tables):
        raise UsageError(
            f"suite {name} names no attack: `bench utility --suite {name}` measures what its defenses cost in "
            "accuracy; bench list suites shows those of attacks"
        )
    found: list[Cell] = []
    for table in suite.tables:
        given = table.given()
        axes, closed = {axis: given.get(axis) for axis in AXES}, sealed or table.sealed
        with _named(suite.path):
            if attacks:
                axes["attack"] = _fitting(registry, attacks, axes["dataset"] or DEFAULTS["dataset"], closed)
                if not axes["attack"]:
                    continue
                _check_sizes(given)
            some = cells(registry, axes, {size: given.get(size) for size in SIZES}, sealed=closed)
        # Of the first seed only: other seeds draw other sentences, and records are no place for a data set.
        kept = {some[0].seed: {key: given[key] for key in KEPT if key in given}}
        found += [dataclasses.replace(cell, suite=suite.tag, **kept.get(cell.seed, {})) for cell in some]
    if not found and attacks:
        raise UsageError(f"suite {name} has no cell for {', '.join(attacks)}: its data are of another kind")
    if not found:
        raise UsageError(f"{suite.path}: names no cells; it needs [[cells]] tables, or none at all")
    return found


def trials_from_suite(registry: Registry, name: str) -> list[tuple[Trial, int | None]]:
    """The trials of a suite of training, each with the epochs to train it for, where the file says so."""
    from bench.experiment.suite_file import read_training

    suite = read_training(find_suite(name))
    found: list[tuple[Trial, int | None]] = []
    for table in suite.tables:
        given = table.given()
        with _named(suite.path):
            some = trials(registry, {axis: given.get(axis) for axis in AXES if axis != "attack"})
        found += [(dataclasses.replace(trial, suite=suite.tag), table.train_epochs) for trial in some]
    if not found:
        raise UsageError(f"{suite.path}: names no trials; it needs [[cells]] tables, or none at all")
    return found


def audits_from_suite(registry: Registry, name: str) -> list[tuple[Trial, dict[str, Any]]]:
    """The audits of a suite: each trial with the game and the sizes that the file names."""
    from bench.experiment.suite_file import read_audits

    suite = read_audits(find_suite(name))
    found: list[tuple[Trial, dict[str, Any]]] = []
    for table in suite.tables:
        given = table.given()
        sizes = {size: given[size] for size in AUDIT_SIZES if size in given}
        with _named(suite.path):
            axes = {axis: given.get(axis) for axis in AXES if axis not in ("attack", "training")}
            some = trials(registry, axes, public=table.public or "")
        for trial in some:
            found += [(dataclasses.replace(trial, suite=suite.tag), {"game": game, **sizes}) for game in table.game]
    return found


def find_suite(name: str) -> Path:
    for path in (Path(name), suites_dir() / f"{name}.toml"):
        if path.is_file():
            return path
    if name.endswith(".toml"):
        raise UsageError(f"--suite {name}: no such file; give the path of a TOML file, or a suite of bench list suites")
    raise unknown("suite", name, suites())


def suites(*, attacks: bool = True, training: bool = True, audits: bool = True) -> dict[str, str]:
    """Names of the suites that come with the project, with their titles: of `bench run`, `bench utility` and
    `bench audit`."""
    found = {}
    for path in sorted(suites_dir().glob("*.toml")):
        suite = tomllib.loads(path.read_text(encoding="utf-8"))
        given = {key for table in (suite, *suite.get("cells", [])) for key in table}
        if audits if "game" in given else attacks if "attack" in given else training:
            found[path.stem] = str(suite.get("title", ""))
    return found


def _fitting(registry: Registry, attacks: Sequence[str], datasets: Sequence[str], sealed: bool) -> list[str]:
    """The attacks that work on the kind of data that these data sets hold."""
    kinds = {kind for name in datasets for kind in choose(registry, "dataset", name).info.on}
    on = {spec: choose(registry, "attack", spec, untrusted=sealed).info.on for spec in attacks}
    return [spec for spec in attacks if kinds <= set(on[spec])]


def _check_sizes(given: Mapping[str, Any]) -> None:
    """A suite that others' attacks are run on says how much is attacked: an attack that chose its own corpus could
    choose one that holds nothing but the answers."""
    if missing := [size for size in FIXED if size not in given]:
        raise UsageError(f"a suite for submitted attacks fixes every size; missing: {', '.join(missing)}")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """A wrong name or size is said with the file that it stands in."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
