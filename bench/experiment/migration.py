"""Records and the code of today: which records it stands behind, and how to carry them over a change.

A change of code that changes no number makes records stale all the same. A stratified sample of them is run again; if
the numbers agree, the ledger (bench.records.ledger) joins the old hashes with the new ones, and no cell is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.experiment.provenance import Standing, code_of, published_ledger, standing
from bench.experiment.replay import Difference, compare
from bench.plugins.registry import Registry
from bench.records.ledger import Equivalence, Ledger
from bench.records.model import COMPONENTS, AttackRecord, Record
from bench.records.store import kind_of
from bench.system import processor

# Kernels of numerical libraries are chosen by processor, so the last bits differ from one to another. Numbers have
# nine decimals; what differs by more than this was computed differently.
OTHER_PROCESSOR = 1e-6


@dataclass(frozen=True)
class Change:
    """A component whose code is another one than when a record was made."""

    component: str
    before: str
    after: str


@dataclass(frozen=True)
class Replayed:
    """A record that was run again, and in what the numbers differ from those of `reference`."""

    record: Record
    reference: Record
    """the record itself, or what the code that made it gives on this machine"""
    differences: list[Difference]

    @property
    def same_processor(self) -> bool:
        return self.reference.versions.get("processor") == processor.name()

    @property
    def agrees(self) -> bool:
        if self.same_processor:
            return not self.differences
        return all(difference.size <= OTHER_PROCESSOR for difference in self.differences)

    @property
    def agreement(self) -> str:
        if not self.differences:
            return "bit for bit" if self.reference is self.record else "bit for bit, with the old code on one machine"
        largest = max(difference.size for difference in self.differences)
        return f"to {largest:.0e}, on another processor"


@dataclass
class Migration:
    """What `migrate` found: entries to write, and what was not carried over."""

    replayed: list[Replayed]
    accepted: list[Equivalence] = field(default_factory=list)
    refused: list[Change] = field(default_factory=list)
    interrupted: bool = False
    """by Ctrl-C: what had been run by then has been judged"""


def verify(records: Iterable[Record], registry: Registry) -> list[tuple[Record, Standing]]:
    return [(record, standing(record, registry)) for record in records]


def changes(record: Record, registry: Registry, known: Ledger | None = None) -> set[Change]:
    """What has changed since a record was made and is not joined by the ledger.

    Code that the ledger joins counts as one: a record that one version made stands for those of all the others.
    """
    known = published_ledger() if known is None else known
    now = code_of(record, registry.get)
    found = ((c, record.code.get(c, ""), now.get(c, "")) for c in COMPONENTS if c in now or c in record.code)
    return {
        Change(component, known.representative(component, before), after)
        for component, before, after in found
        if not known.joins(component, before, after)
    }


def stratified(records: Sequence[Record], count: int, wanted: Callable[[Record], set[Change]]) -> list[Record]:
    """So many records, or as many as it takes to meet every change once; cheap ones first, then unlike ones."""
    ordered = sorted(records, key=lambda record: (record.cost.seconds, record.id))
    chosen: list[Record] = []
    covered: set[Change] = set()
    for record in ordered:
        if not wanted(record) <= covered:
            covered |= wanted(record)
            chosen.append(record)
    seen = {stratum(record) for record in chosen}
    for again in (False, True):  # a stratum that is not in the sample yet, then any
        for record in ordered:
            if len(chosen) >= count:
                return chosen
            if record not in chosen and (again or stratum(record) not in seen):
                seen.add(stratum(record))
                chosen.append(record)
    return chosen


def migrate(
    stale: Sequence[Record],
    registry: Registry,
    count: int,
    again: Callable[[Record], Record],
    reason: str,
    baseline: Mapping[str, Record] | None = None,
) -> Migration:
    """Run a sample of the stale records again (`again`); a change is accepted if every record that met it agrees.

    `baseline` are records of the same cells, by id, that the old code made on this machine: numbers are held against
    these where there are any, since last bits differ from one processor to another.
    """
    met = {record.id: changes(record, registry) for record in stale}
    sample = stratified(stale, count, lambda record: met[record.id])
    result = Migration([])
    try:
        for record in sample:
            result.replayed.append(replayed(record, again(record), baseline))
    except KeyboardInterrupt:
        result.interrupted = True
    waiting = {change for record in sample[len(result.replayed) :] for change in met[record.id]}
    for change in sorted({c for found in met.values() for c in found}, key=lambda c: (c.component, c.before)):
        runs = [run for run in result.replayed if change in met[run.record.id]]
        if change in waiting or not runs or not all(run.agrees for run in runs):
            result.refused.append(change)
            continue
        worst = max(runs, key=lambda run: max((d.size for d in run.differences), default=0.0))
        about = {"component": change.component, "from": change.before, "to": change.after, "reason": reason}
        ids = sorted(run.record.id for run in runs)
        result.accepted.append(Equivalence.model_validate({**about, "agreement": worst.agreement, "replayed": ids}))
    return result


def replayed(record: Record, new: Record, baseline: Mapping[str, Record] | None = None) -> Replayed:
    reference = (baseline or {}).get(record.id, record)
    if isinstance(new, AttackRecord) and isinstance(reference, AttackRecord):
        # A metric that scoring has learnt since is no difference in what was measured before.
        new = new.replace(metrics={name: new.metrics[name] for name in new.metrics if name in reference.metrics})
    return Replayed(record, reference, compare(reference, new))


def stratum(record: Record) -> tuple[str, ...]:
    """Records of one stratum stand for each other in a sample."""
    attack = record.attack.name if isinstance(record, AttackRecord) else kind_of(record)
    return record.dataset.name, record.encoder.name, record.defense.name, attack
