"""Stale records are marked with the component that changed, wherever a board shows them."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from bench.board import build, files
from bench.board.staleness import StaleRecords, changed_components
from bench.records.model import AttackRecord, UtilityRecord
from tests.helpers.records import attack_record, failed_record, utility_record

LEAK = np.arange(100) < 40
TAG = {"main": 1}


def stale(record: AttackRecord, *components: str) -> AttackRecord:
    """The record, as if it had been made before these components changed."""
    return record.replace(code={**record.code, **dict.fromkeys(components, "before")})


def texts(*records: AttackRecord, utility: tuple[UtilityRecord, ...] = ()) -> dict[str, str]:
    made = files.build(records, utility)
    return {name: content.decode() for name, content in made.items() if not name.endswith(".png")}


def test_only_records_of_other_code_are_stale() -> None:
    record = attack_record()
    assert changed_components(record) == ()
    assert set(changed_components(stale(record, "scoring", "attack"))) == {"scoring", "attack"}
    # Whether somebody else's plugin can be read depends on the machine, and the board must not.
    assert changed_components(stale(attack_record("mine"), "scoring")) == ()
    found = StaleRecords([record, stale(attack_record(seed=1), "scoring", "attack")])
    ids = [record.id, attack_record(seed=1).id]
    assert found.components(ids) == ["attack", "scoring"]
    assert (found.count(ids), found.count(ids[:1])) == (1, 0)
    later = stale(record, "of-later-versions", "attack")
    assert StaleRecords([later]).components([later.id]) == ["attack", "of-later-versions"]


@pytest.mark.parametrize("name", ["", " ", "[/red]", "a\nb", "x" * 50])
def test_a_component_has_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="the name of a component was expected"):
        AttackRecord.model_validate(stale(attack_record(), name).to_dict())


def test_a_cell_that_rests_on_one_stale_record_is_marked() -> None:
    records = [attack_record(leak=LEAK, suites=TAG), stale(attack_record(leak=LEAK, seed=1, suites=TAG), "attack")]
    board = build.build([*records, attack_record("texthide", leak=LEAK, suites=TAG)], [])
    cells = {cell.defense: cell for cell in board.cells}
    assert (cells["none"].stale, cells["none"].marks) == (["attack"], ["stale"])
    assert (cells["texthide"].stale, cells["texthide"].marks) == ([], [])
    rows = {row.defense: row.worst for row in board.defenses}
    assert rows["none"] is not None
    assert rows["none"].stale == ["attack"]
    assert (board.stale, board.suites["main"].stale) == (1, 1)


def test_every_file_shows_them() -> None:
    old = stale(attack_record(leak=LEAK, suites=TAG), "attack", "scoring")
    trained = utility_record("texthide", 0.6, suites=TAG)
    trained = trained.replace(code={**trained.code, "training": "before"})
    made = texts(old, attack_record("texthide", leak=LEAK, suites=TAG), utility=(trained,))
    table = made["boards/main.md"]
    assert "0.400 [0.390, 0.410] ↻ attack, scoring<br>random 0.001, 1.5 s" in table
    assert "0.400 [0.390, 0.410] ↻ attack, scoring<br>rss, 100 × 1, the only attack |" in table
    assert "` ↻ training |" in table
    assert "- 2 records are stale: made by code that has changed since" in table
    assert "↻ (stale records): the code of the named components has changed" in table
    assert re.search(r"\$\\hookleftarrow\$[\\\\{} ]+attack, scoring", made["boards/main.tex"])
    rows = {row["defense"]: row["stale"] for row in csv.DictReader(made["boards/main.csv"].splitlines())}
    assert rows == {"none": "attack scoring", "texthide": ""}
    (row,) = csv.DictReader(made["boards/main.utility.csv"].splitlines())
    assert row["stale"] == "training"
    front = made["leaderboard.md"]
    assert "from 3 records, 2 of them stale; do not edit" in front
    assert "2 of its 3 records are stale." in front
    assert "| board | what | version | records | failed | stale | superseded | missing |" in front
    assert json.loads(made["board.json"])["stale"] == 2
    assert '"stale"' in made["site/index.html"]


def test_a_failed_record_can_be_stale_too() -> None:
    lost = stale(failed_record(suites=TAG), "attack")
    assert "✗ failed 1/1 ↻ attack" in texts(lost)["boards/main.md"]


def test_nothing_is_said_where_all_is_current() -> None:
    made = texts(attack_record(leak=LEAK, suites=TAG))
    assert not any("↻" in made[name] for name in ("boards/main.md", "boards/main.tex", "leaderboard.md"))
