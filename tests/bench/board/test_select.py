"""Which records a board shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.board import select
from bench.board.select import ADHOC, Selection
from bench.records.model import AttackRecord
from tests.helpers.records import attack_record, utility_record, write_damaged, write_records

PUBLIC = {"name": "papers", "label": "papers:n=5", "fingerprint": "p"}


def made(name: str, day: int = 1, **options: Any) -> AttackRecord:
    """A record with an id that can be read."""
    return attack_record(id=f"{name:0>16}", ended=f"2026-01-{day:02}T00:00:00Z", **options)


def selected(*records: AttackRecord) -> Selection[AttackRecord]:
    return select.by_suite(records, select.attack_experiment, select.newest_versions(records))


def boards(found: Selection[AttackRecord]) -> dict[str, list[str]]:
    return {suite: [r.id.lstrip("0") for r in some] for suite, some in found.boards.items()}


def test_the_newest_record_of_a_cell_stands_on_the_boards_of_those_it_supersedes() -> None:
    old, new = made("b", 1, suites={"s": 1}), made("a", 2, suites={"t": 3})
    other = made("c", 1, seed=1, suites={"s": 1})
    for order in ([old, new, other], [other, new, old]):
        found = selected(*order)
        assert boards(found) == {"s": ["a", "c"], "t": ["a"]}
        assert found.superseded == {"s": 1, "t": 0}
        assert found.newest == [new, other]


def test_only_the_newest_version_of_a_suite_is_shown() -> None:
    dropped = made("a", 9, defense="texthide", suites={"s": 1})
    kept = made("b", 1, suites={"s": 2})
    assert select.newest_versions([kept, dropped]) == {"s": 2}
    found = selected(dropped, kept)
    assert boards(found) == {"s": ["b"]}
    assert found.superseded == {"s": 1}
    assert found.newest == [kept, dropped]


def test_a_cell_run_again_for_an_older_version_stays_in_the_newer_one() -> None:
    found = selected(made("a", 1, suites={"s": 2}), made("b", 2, suites={"s": 1}))
    assert boards(found) == {"s": ["b"]}
    assert found.superseded == {"s": 1}


def test_records_of_no_suite_have_a_board_of_their_own() -> None:
    found = selected(made("a", 1), made("b", 2), made("c", seed=1, suites={"s": 1}))
    assert boards(found) == {ADHOC: ["b"], "s": ["c"]}
    assert found.superseded == {ADHOC: 1, "s": 0}


def test_of_records_as_old_as_each_other_the_id_decides_and_one_that_lies_there_twice_is_one() -> None:
    a, b = made("a", suites={"s": 1}), made("b", suites={"s": 1})
    assert selected(a, b) == selected(b, a)
    assert boards(selected(b, a)) == {"s": ["b"]}
    assert selected(a, a.replace(), b).superseded == {"s": 1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "4 × 1"),
        ({"epochs": 3}, "4 × 3"),
        ({"protocol": {"candidates": 20, "coverage": 0.5, "split": "dev"}},
         "4 × 1, 20 candidates, coverage 0.5, queries from dev"),
        ({"sealed": True}, "4 × 1, sealed"),
        ({"public": PUBLIC}, "4 × 1"),  # the attack does not see it
        ({"public": PUBLIC, "attack": "sees-public"}, "4 × 1, public papers"),
        ({"public": PUBLIC, "attack": "sees-pairs", "notes": {"pairs": 100}}, "4 × 1, 100 known pairs of papers"),
    ],
)  # fmt: skip
def test_a_protocol_is_its_size_and_what_differs_from_the_defaults(options: dict[str, Any], said: str) -> None:
    record = attack_record(**options)
    if record.attack.name.startswith("sees-"):
        word = record.attack.name.removeprefix("sees-")
        record = record.replace(attack=record.attack.model_copy(update={"sees": ["encodings", word]}))
    assert select.protocol(record) == said


def test_seeds_and_code_make_no_other_experiment_and_all_else_does() -> None:
    first = select.attack_experiment(attack_record())
    assert select.attack_experiment(attack_record(seed=5, code={"attack": "0"}, suites={"s": 1})) == first
    changes: list[dict[str, Any]] = [
        {"dataset": "sst2"},
        {"encoder": "mpnet"},
        {"defense": "texthide:m=16"},
        {"attack": "unmix"},
        {"epochs": 2},
        {"public": PUBLIC},
        {"sealed": True},
    ]
    others = {select.attack_experiment(attack_record(**change)) for change in changes}
    assert len(others - {first}) == len(changes)


def test_training_is_told_apart_by_its_settings_in_whatever_order() -> None:
    one, same, longer = (
        select.training_experiment(utility_record("none", 0.5, seed=seed, training=training))
        for seed, training in enumerate(
            [{"epochs": 5, "shared": False}, {"shared": False, "epochs": 5}, {"epochs": 6, "shared": False}]
        )
    )
    assert one == same
    assert one != longer


def test_a_folder_is_read_by_kind_and_damaged_files_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    attack, utility = attack_record(), utility_record("none", 0.9)
    write_records(tmp_path, attack, utility)
    write_damaged(tmp_path, "broken", attack, seed="three")
    assert select.read(tmp_path) == ([attack], [utility], [])
    assert "broken.json" in caplog.text
