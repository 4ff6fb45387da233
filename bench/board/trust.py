"""Which records a board ranks by: not those that did not come out when they were run again, nor those whose corpus is
so small that whoever names all of it is right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from bench.records.model import AttackRecord, AuditRecord, Record
from bench.records.origin import Kind, kind_of, weakest

R = TypeVar("R", bound=Record)
# Sentences in the attacker's corpus below which a share of them that was found says nothing.
TINY = 100


def judged(record: R) -> R:
    """A record that was not reproduced stands on the board like one that failed: with the reason, without a number."""
    if kind_of(record.origin) != "not reproduced" or record.status != "ok":
        return record
    assert record.origin is not None
    said = "; ".join(record.origin.differences) or "no difference was noted"
    changes: dict[str, Any] = {"status": "failed", "error": f"not reproduced: {said}"}
    if isinstance(record, AttackRecord):
        changes |= {"metrics": {}, "outcomes": None, "samples": None}
    elif isinstance(record, AuditRecord):
        changes |= {"audited": None, "verdict": None}
    else:
        changes |= {"metrics": {}}
    return record.replace(**changes)


def is_tiny(record: Record) -> bool:
    """The attacker could name all there is to name."""
    if not isinstance(record, AttackRecord) or record.dataset.modality != "text":
        return False
    return record.dataset.candidates is not None and record.dataset.candidates < TINY


def origin(records: Iterable[Record]) -> Kind:
    """Whose word a value of these records is."""
    return weakest([record.origin for record in records])
