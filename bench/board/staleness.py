"""Which records were made by code that has changed since."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from bench.board.commands import foreign_plugins
from bench.experiment import provenance
from bench.plugins.registry import Registry
from bench.records.model import COMPONENTS, Record
from bench.records.origin import kind_of


class StaleRecords:
    """Changed components of stale records, by record id."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._changed = {r.id: changed for r in records if (changed := changed_components(r))}

    def components(self, ids: Iterable[str]) -> list[str]:
        """What has changed behind any of these records, in the order of COMPONENTS; what only later versions know of
        comes last."""
        found = {component for i in ids for component in self._changed.get(i, ())}
        return [c for c in COMPONENTS if c in found] + sorted(found - set(COMPONENTS))

    def count(self, ids: Iterable[str]) -> int:
        return sum(i in self._changed for i in set(ids))


def changed_components(record: Record) -> tuple[str, ...]:
    """Components whose code has changed since the record was made; none if it is current or equivalent.

    A record with a plugin that this project does not bring is not judged: whether its code can be read depends on what
    is installed, and a board is to be the same on every machine. `bench records verify` judges those. Nor is one that
    was not reproduced: its numbers are not shown.
    """
    if foreign_plugins(record) or kind_of(record.origin) == "not reproduced":
        return ()
    standing = provenance.standing(record, _registry())
    return standing.changed if standing.status == "stale" else ()


@lru_cache(maxsize=1)
def _registry() -> Registry:
    return Registry()
