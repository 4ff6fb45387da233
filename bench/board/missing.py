"""Cells that a suite names and no record answers. Only names are compared: neither data nor weights are needed."""

from __future__ import annotations

import logging
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.board.model import PlaceCount
from bench.errors import BenchError
from bench.experiment import suites
from bench.experiment.audit import sizes_of
from bench.experiment.cells import Cell, Trial
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, AuditRecord, UtilityRecord
from bench.system.paths import suites_dir

log = logging.getLogger(__name__)


@dataclass
class SuiteCoverage:
    """A suite's file, and how many of its cells the records answer."""

    title: str = ""
    differs: str = ""
    version: int | None = None
    """of the file; None if there is no file, or one that cannot be read here"""
    problem: str = ""
    named: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    missing: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    @property
    def places(self) -> list[PlaceCount]:
        return [PlaceCount(*place, self.missing[place], self.named[place]) for place in sorted(self.named)]

    def count(self, dataset: str, encoder: str, answered: bool) -> None:
        self.named[dataset, encoder] += 1
        self.missing[dataset, encoder] += not answered


def coverage(
    name: str,
    attacks: Sequence[AttackRecord],
    utility: Sequence[UtilityRecord],
    registry: Registry,
    *,
    audits: Sequence[AuditRecord] = (),
    untrusted: bool = False,
) -> SuiteCoverage:
    """`untrusted`: attacks are asked for their names and sizes in the sandbox, and not imported here."""
    path = suites_dir() / f"{name}.toml"
    if not path.is_file():
        return SuiteCoverage(problem="its file is not among the suites of this project")
    try:
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        suite = SuiteCoverage(about.get("title", ""), about.get("differs", ""), about.get("version", 1))
        # A suite of attacks may have utility measured on the way; one of utility or of audits has no attack.
        if attacks:
            _count_cells(suite, suites.from_suite(registry, str(path), sealed=untrusted), attacks)
        elif audits:
            _count_audits(suite, suites.audits_from_suite(registry, str(path)), audits)
        else:
            _count_trials(suite, suites.trials_from_suite(registry, str(path)), utility)
    except (BenchError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Logged and not shown on the board, which is to be the same on every machine that can read the file.
        log.warning("suite %s: what is missing is not known: %s", name, error)
        return SuiteCoverage(problem="its file names what is not installed here, or is damaged")
    if sum(suite.missing.values()) == sum(suite.named.values()):
        # A suite is known by its file's name, and anybody may call theirs main.toml: neither this one's title nor its
        # cells are then theirs.
        return SuiteCoverage(problem="no record is of a cell that this project's suite of that name has")
    return suite


def _size(sizes: Mapping[str, Any]) -> tuple[Any, ...]:
    """All of a protocol but the number of examples."""
    return tuple(sizes.get(name) for name in ("epochs", "candidates", "coverage", "split", "batch", "update"))


def _count_cells(suite: SuiteCoverage, cells: Sequence[Cell], records: Sequence[AttackRecord]) -> None:
    examples: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for r in records:
        size = _size(r.protocol.model_dump())
        names = (r.dataset.label, r.model, r.attacker, r.defense.label, r.attack.label)
        examples[*names, r.seed, r.public and r.public.label, *size].add(r.protocol.examples)
    for cell in cells:
        wanted = cell.protocol
        size = _size(wanted.as_dict())
        attacker = cell.attacker if cell.training else None
        names = (cell.dataset.label, cell.model, attacker, cell.defense.label, cell.attack.label)
        found = examples[*names, cell.seed, cell.public and cell.public.label, *size]
        # A data set that is smaller than the paper's is taken whole.
        answered = any(n == wanted.examples or (n < wanted.examples and not cell.fixed_size) for n in found)
        suite.count(cell.dataset.label, cell.model, answered)


def _count_trials(
    suite: SuiteCoverage, trials: Sequence[tuple[Trial, int | None]], records: Sequence[UtilityRecord]
) -> None:
    epochs: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for r in records:
        epochs[r.dataset.label, r.model, r.defense.label, r.seed].add(r.training["epochs"])
    for trial, wanted in trials:
        found = epochs[trial.dataset.label, trial.model, trial.defense.label, trial.seed]
        suite.count(trial.dataset.label, trial.model, wanted in found if wanted else bool(found))


def _count_audits(
    suite: SuiteCoverage, audits: Sequence[tuple[Trial, dict[str, Any]]], records: Sequence[AuditRecord]
) -> None:
    known = {(r.dataset.label, r.model, r.defense.label, r.seed, r.protocol) for r in records}
    for trial, sizes in audits:
        names = (trial.dataset.label, trial.model, trial.defense.label, trial.seed)
        answered = (*names, sizes_of(trial.defense.plugin, **sizes)) in known
        suite.count(trial.dataset.label, trial.model, answered)
