"""Carrying records over a change of code: which are run again, and what is joined."""

from __future__ import annotations

from typing import Any

import pytest

from bench.experiment import migration
from bench.experiment.migration import Change, replayed
from bench.experiment.replay import Difference
from bench.plugins.registry import Registry
from bench.records.ledger import Equivalence, Ledger
from bench.records.model import AttackRecord, Record
from bench.system.processor import name as processor
from tests.helpers.records import bare_record


def made(number: int, attack: str = "rss", seconds: float = 1.0, **changes: Any) -> AttackRecord:
    about = {
        "id": f"{number:016x}",
        "seed": number,
        "metrics": {"recall": {"value": 0.5}},
        "cost": {"attack_s": seconds},
        "code": {"attack": f"old {attack}", "scoring": "old"},
        "versions": {"processor": processor()},
    }
    return bare_record(attack, **{**about, **changes})


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Today's code: the attack that a record names, and a new scoring."""

    def code_of(record: AttackRecord, find: Any) -> dict[str, str]:
        return {"attack": f"new {record.attack.name}", "scoring": "new"}

    monkeypatch.setattr(migration, "code_of", code_of)
    return Registry()


def shifted(record: Record, by: float) -> Record:
    return record.replace(metrics={"recall": {"value": 0.5 + by}})


def test_the_cheapest_records_that_meet_every_change_are_chosen_first() -> None:
    records = [made(1, "rss", 9.0), made(2, "rss", 1.0), made(3, "unmix", 5.0), made(4, "unmix", 7.0)]
    wanted = {r.id: {Change("attack", r.attack.name, "x")} for r in records}
    chosen = migration.stratified(records, 1, lambda record: wanted[record.id])
    assert [record.seed for record in chosen] == [2, 3]


def test_then_unlike_ones_and_then_any_up_to_the_count() -> None:
    records = [made(1, "rss", 1.0), made(2, "rss", 2.0), made(3, "unmix", 3.0)]
    assert [r.seed for r in migration.stratified(records, 2, lambda record: set())] == [1, 3]
    assert [r.seed for r in migration.stratified(records, 9, lambda record: set())] == [1, 3, 2]


def test_changes_are_joined_where_all_numbers_agree(registry: Registry) -> None:
    stale = [made(1), made(2, "unmix")]
    result = migration.migrate(stale, registry, 2, lambda record: record, "a refactoring")
    joined = {(entry.component, entry.before, entry.after) for entry in result.accepted}
    assert joined == {
        ("attack", "old rss", "new rss"),
        ("attack", "old unmix", "new unmix"),
        ("scoring", "old", "new"),
    }
    assert {entry.agreement for entry in result.accepted} == {"bit for bit"}
    scoring = next(entry for entry in result.accepted if entry.component == "scoring")
    assert scoring.replayed == [stale[0].id, stale[1].id]
    assert not result.refused


def test_a_change_is_refused_if_one_record_that_met_it_disagrees(registry: Registry) -> None:
    stale = [made(1), made(2, "unmix")]

    def again(record: Record) -> Record:
        return shifted(record, 1e-8) if record.seed == 2 else record

    result = migration.migrate(stale, registry, 2, again, "a refactoring")
    assert [(entry.component, entry.after) for entry in result.accepted] == [("attack", "new rss")]
    assert {change.after for change in result.refused} == {"new", "new unmix"}


def test_last_bits_may_differ_on_another_processor_and_the_ledger_says_so(registry: Registry) -> None:
    stale = [made(1, versions={})]
    result = migration.migrate(stale, registry, 1, lambda record: shifted(record, 2e-9), "a refactoring")
    assert {entry.agreement for entry in result.accepted} == {"to 2e-09, on another processor"}
    refused = migration.migrate(stale, registry, 1, lambda record: shifted(record, 1e-3), "a refactoring")
    assert not refused.accepted


def test_numbers_are_held_against_the_old_code_on_this_machine_where_it_was_run(registry: Registry) -> None:
    stale = [made(1, versions={})]
    old = {stale[0].id: shifted(made(1), 1e-5)}
    result = migration.migrate(stale, registry, 1, lambda record: shifted(record, 1e-5), "a refactoring", old)
    assert {entry.agreement for entry in result.accepted} == {"bit for bit, with the old code on one machine"}
    refused = migration.migrate(stale, registry, 1, lambda record: shifted(record, 2e-5), "a refactoring", old)
    assert not refused.accepted


def test_what_is_no_number_must_be_equal_everywhere() -> None:
    failed = made(1, versions={}).replace(status="failed", error="too slow")
    assert not replayed(made(1, versions={}), failed).agrees
    assert Difference("metrics.recall.value", True, 1.0).size == float("inf")


def test_versions_that_the_ledger_joins_stand_for_each_other(registry: Registry) -> None:
    entry = {"component": "scoring", "from": "older", "to": "old", "reason": "a move", "replayed": ["a1"]}
    known = Ledger([Equivalence.model_validate({**entry, "agreement": "bit for bit"})])
    older = made(2, code={"attack": "old rss", "scoring": "older"})
    assert migration.changes(older, registry, known) == migration.changes(made(1), registry, known)


def test_an_interruption_keeps_what_had_agreed_by_then(registry: Registry) -> None:
    def again(record: Record) -> Record:
        if record.seed == 2:
            raise KeyboardInterrupt
        return record

    stale = [made(1), made(2, "unmix", 2.0)]
    result = migration.migrate(stale, registry, 2, again, "a refactoring")
    assert result.interrupted
    # The other record has met the new scoring, too, and is yet to agree.
    assert [(entry.component, entry.after) for entry in result.accepted] == [("attack", "new rss")]
