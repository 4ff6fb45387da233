"""What a board does with records that did not come out, and with corpora that can be named whole."""

from __future__ import annotations

import csv
import io

import numpy as np

from bench.board import build, files
from bench.records.model import AttackRecord
from bench.records.origin import Origin
from tests.helpers.records import attack_record, utility_record

LEAK = np.arange(200) % 2
WRONG = Origin(kind="not reproduced", differences=["metrics.recall.value: 1.0 on record, 0.1 now"])


def of_four(record: AttackRecord) -> AttackRecord:
    return record.replace(dataset=record.dataset.replace(candidates=4))


def test_a_record_that_was_not_reproduced_is_marked_and_leaves_the_ranking() -> None:
    forged = attack_record("none", "unmix", LEAK * 0 + 1, suites={"main": 1}, origin=WRONG)
    real = attack_record("none", "rss", LEAK, suites={"main": 1})
    board = build.build([forged, real], [])
    (row,) = board.defenses
    assert row.worst is not None
    assert (row.worst.attack, row.attacks_failed) == ("rss", 1)
    cell = next(c for c in board.cells if c.attack == "unmix")
    assert (cell.value, cell.origin, "unreproduced" in cell.marks) == (None, "not reproduced", True)
    assert "1.0 on record, 0.1 now" in str(cell.failed[0].error)
    assert not cell.stale
    page = files.build([forged, real])["boards/main.md"].decode()
    assert "metrics.recall.value: 1.0 on record, 0.1 now" in page


def test_one_seed_that_was_not_reproduced_does_not_count() -> None:
    seeds = [attack_record("none", "rss", LEAK, seed=s, suites={"main": 1}) for s in (0, 1)]
    forged = attack_record("none", "rss", LEAK * 0, seed=2, suites={"main": 1}, origin=WRONG)
    (cell,) = build.build([*seeds, forged], []).cells
    assert cell.value == 0.5
    assert "unreproduced" in cell.marks
    trained = utility_record("none", 0.9, origin=WRONG)
    assert build.build(seeds, [trained]).utility == [] or not build.build(seeds, [trained]).utility[0].metrics


def test_the_origin_of_a_cell_is_that_of_its_weakest_record() -> None:
    def origin(*kinds: str | None) -> str:
        records = [
            attack_record(leak=LEAK, seed=i, origin=kind and {"kind": kind}, suites={"main": 1})
            for i, kind in enumerate(kinds)
        ]
        (cell,) = build.build(records, []).cells
        return cell.origin

    assert origin("ci", "ci") == "ci"
    assert origin("ci", "replayed") == "replayed"
    assert origin("ci", None) == "self-reported"
    table = files.build([attack_record(leak=LEAK, origin={"kind": "ci"}, suites={"main": 1})])["boards/main.csv"]
    (line,) = csv.DictReader(io.StringIO(table.decode()))
    assert line["origin"] == "ci"


def test_a_corpus_that_can_be_named_whole_is_shown_and_not_ranked() -> None:
    """Four candidates, of which all are right: naming them is no attack."""
    blind = of_four(attack_record("texthide", "rss", LEAK * 0 + 1, suites={"main": 1}))
    real = attack_record("texthide", "unmix", LEAK, suites={"main": 1})
    board = build.build([blind, real], [])
    assert board.defenses[0].worst is not None
    assert board.defenses[0].worst.attack == "unmix"
    (cell,) = (c for c in board.cells if c.attack == "rss")
    assert "tiny" in cell.marks
    assert (cell.value, cell.stronger) == (1.0, None)
    (alone,) = build.build([blind], []).defenses
    assert alone.worst is None


def test_one_record_of_a_version_that_there_is_not_empties_no_board() -> None:
    real = [attack_record(d, leak=LEAK, suites={"main": 1}) for d in ("none", "texthide")]
    forged = attack_record("mix-only", leak=LEAK, suites={"main": 999999})
    again = attack_record("none", leak=LEAK, suites={"main": 999999}, ended="2026-01-02T00:00:00Z")
    board = build.build([*real, forged, again], [])
    assert board.suites["main"].version == 1
    assert {cell.defense for cell in board.cells if "main" in cell.suites} == {"none", "texthide"}
