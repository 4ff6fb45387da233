"""What a suite names and no record answers. Only names are compared: neither data nor weights are needed."""

from __future__ import annotations

import sys
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.errors import BenchError
from bench.experiment import suites
from bench.experiment.cells import Cell, Trial
from bench.plugins.registry import Registry
from bench.records.model import Record
from bench.system.paths import suites_dir

Place = tuple[str, str]


@dataclass
class Suite:
    """A suite as its file has it, held against the records that were run for it."""

    title: str = ""
    differs: str = ""
    version: int | None = None
    """of the file; None if there is no file, or one that cannot be read here"""
    problem: str = ""
    named: dict[Place, int] = field(default_factory=lambda: defaultdict(int))
    missing: dict[Place, int] = field(default_factory=lambda: defaultdict(int))


def look(
    name: str,
    attacks: Sequence[Record],
    utility: Sequence[Record],
    registry: Registry,
    *,
    strangers: bool = False,
) -> Suite:
    """`strangers`: attacks are not trusted, and are asked for their names and sizes in the sandbox."""
    path = suites_dir() / f"{name}.toml"
    if not path.is_file():
        return Suite(problem="its file is not among the suites of this project")
    try:
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        suite = Suite(about.get("title", ""), about.get("differs", ""), about.get("version", 1))
        # A suite of attacks may have utility measured on the way; one of utility has no attack.
        if attacks:
            _cells(suite, suites.from_suite(registry, str(path), sealed=strangers), attacks)
        else:
            _trials(suite, suites.trials_from_suite(registry, str(path)), utility)
    except (BenchError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Said here and not on the board, which is to be the same on every machine that can read the file.
        print(f"suite {name}: what is missing is not known: {error}", file=sys.stderr)
        return Suite(problem="its file names what is not installed here, or is damaged")
    if sum(suite.missing.values()) == sum(suite.named.values()):
        # A suite is known by its file's name, and anybody may call theirs main.toml: neither this one's title nor its
        # cells are then theirs.
        return Suite(problem="no record is of a cell that this project's suite of that name has")
    return suite


def _cells(suite: Suite, cells: Sequence[Cell], records: Sequence[Record]) -> None:
    have: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for record in records:
        names = [record[kind]["label"] for kind in ("dataset", "encoder", "defense", "attack")]
        public = record["public"] and record["public"].get("label")
        have[*names, record["seed"], public, *_sizes(record["protocol"])].add(record["protocol"]["examples"])
    for cell in cells:
        names = [chosen.label for chosen in (cell.dataset, cell.encoder, cell.defense, cell.attack)]
        public = cell.public and cell.public.label
        sizes = have[*names, cell.seed, public, *_sizes(cell.protocol.as_dict())]
        # A data set that is smaller than the paper's is taken whole.
        there = any(n == cell.protocol.examples or (n < cell.protocol.examples and not cell.fixed_size) for n in sizes)
        _count(suite, (cell.dataset.label, cell.encoder.label), there)


def _trials(suite: Suite, trials: Sequence[tuple[Trial, int | None]], records: Sequence[Record]) -> None:
    have: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for record in records:
        names = [record[kind]["label"] for kind in ("dataset", "encoder", "defense")]
        have[*names, record["seed"]].add(record["training"]["epochs"])
    for trial, epochs in trials:
        found = have[trial.dataset.label, trial.encoder.label, trial.defense.label, trial.seed]
        _count(suite, (trial.dataset.label, trial.encoder.label), epochs in found if epochs else bool(found))


def _count(suite: Suite, place: Place, there: bool) -> None:
    suite.named[place] += 1
    suite.missing[place] += not there


def _sizes(protocol: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(protocol[name] for name in ("epochs", "candidates", "coverage", "split"))
