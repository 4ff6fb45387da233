"""What a run is told of the published board."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.board import known
from bench.records.model import AttackRecord
from tests.bench.api.test_tables import attack_record

UNMIX = {
    "dataset": "cola", "encoder": "minilm", "defense": "texthide", "attack": "unmix", "value": 0.99,
    "sees": ["corpus", "defense", "encodings"], "protocol": "1000 × 1", "metric": "recall",
}  # fmt: skip


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Publishes cells."""

    def publish(*cells: dict[str, Any]) -> None:
        (tmp_path / "board.json").write_text(json.dumps({"cells": cells}))
        known.cells.cache_clear()

    monkeypatch.setattr(known, "board_file", lambda: tmp_path / "board.json")
    known.cells.cache_clear()
    yield publish
    known.cells.cache_clear()


def record(defense: str = "texthide", attack: str = "rss", leak: float = 0.01) -> AttackRecord:
    about = attack_record().to_dict()
    about |= {
        "defense": {"name": defense.partition(":")[0], "label": defense},
        "attack": {"name": attack, "label": attack, "sees": ["corpus", "encodings"]},
        "metrics": {"recall": {"value": leak, "random": 0.01}},
    }
    return AttackRecord.model_validate(about)


def test_a_weak_attack_is_not_left_as_the_last_word(board: Any) -> None:
    board(UNMIX)
    (line,) = known.warnings([record()])
    assert "texthide: the strongest attack of this run finds 0.010" in line
    assert "unmix finds 0.990 (cola, minilm, frozen): add --attack unmix" in line


def test_vectors_that_name_nothing_are_not_said_to_find_nothing(board: Any) -> None:
    board(UNMIX)
    (line,) = known.warnings([record().replace(metrics={"cosine": {"value": 0.99}})])
    assert "texthide: no attack of this run names examples; on the published board unmix finds 0.990" in line


@pytest.mark.parametrize(
    "cell",
    [
        {**UNMIX, "value": 0.1},
        {**UNMIX, "encoder": "minilm finetuned:layers=2"},
        {**UNMIX, "defense": "texthide:m=inf"},
        {**UNMIX, "sees": ["gradients", "corpus"]},
        {**UNMIX, "metric": "sbert"},
        {**UNMIX, "value": None},
        {**UNMIX, "modality": "images"},
    ],
)
def test_what_says_nothing_of_this_setting_is_not_told(board: Any, cell: dict[str, Any]) -> None:
    board(cell)
    assert list(known.warnings([record()])) == []


def test_no_word_where_the_strongest_was_run_or_all_was_found(board: Any) -> None:
    board(UNMIX)
    assert list(known.warnings([record(), record(attack="unmix", leak=0.0)])) == []
    assert list(known.warnings([record(leak=0.95)])) == []
    assert list(known.warnings([record("none")])) == []


def test_the_assumption_stands_beside_what_is_left_without_it(board: Any) -> None:
    half = {**UNMIX, "protocol": "1000 × 1, coverage 0.5", "value": 0.8}
    blind = {**UNMIX, "attack": "xie-hong-blind", "sees": ["encodings", "public"], "metric": "success", "value": 0.7}
    board(UNMIX, half, blind)
    said = known.assumption([record()])
    assert said is not None
    assert said.startswith("Assumed: every private example is in the attacker's list of candidates.")
    assert "unmix names 0.800 of that half" in said
    assert "xie-hong-blind rebuilds 0.700 of the vectors" in said
    assert "word for word" not in said


def test_without_a_list_texts_may_be_written_all_the_same(board: Any) -> None:
    text = {**UNMIX, "sees": ["encodings", "encoder", "public"], "metric": "exact"}
    board({**text, "attack": "xie-hong-invert", "value": 0.2}, {**text, "attack": "weaker", "value": 0.1},
          {**text, "attack": "of-updates", "sees": ["updates"], "value": 0.9})  # fmt: skip
    said = known.assumption([record()])
    assert said is not None
    assert "without any list, xie-hong-invert writes 0.200 of the texts word for word (texthide, cola" in said
    assert "of-updates" not in said


def test_a_run_on_updates_is_told_what_others_read_from_updates(board: Any) -> None:
    text = {**UNMIX, "sees": ["encodings", "public"], "metric": "exact"}
    board(
        {**text, "attack": "invert", "value": 0.4}, {**text, "attack": "of-updates", "sees": ["updates"], "value": 0.9}
    )
    attack = record().attack.model_copy(update={"sees": ["corpus", "updates"]})
    said = str(known.assumption([record().replace(attack=attack)]))
    assert "without any list, of-updates writes 0.900" in said
    assert "invert" not in said


def test_runs_on_pictures_are_told_nothing_of_texts(board: Any) -> None:
    board(UNMIX, {**UNMIX, "protocol": "100 × 50, coverage 0.5"})
    pictures = record().replace(dataset=record().dataset.model_copy(update={"modality": "images"}))
    assert list(known.warnings([pictures])) == []
    assert known.assumption([pictures]) == "Assumed: every private example is in the attacker's list of candidates."


def test_without_a_board_nothing_is_known(board: Any) -> None:
    assert known.cells() == ()
    assert list(known.warnings([record()])) == []


def test_published_rows_of_the_same_cell_come_the_strongest_first(board: Any) -> None:
    here = {**UNMIX, "dataset": "demo", "encoder": "toy"}
    board(UNMIX, {**here, "attack": "rss", "value": 0.1}, here)
    assert [cell.attack for cell in known.beside(record())] == ["unmix", "rss"]


def test_a_new_attack_is_told_what_published_ones_find_in_its_cell(board: Any) -> None:
    board(UNMIX, {**UNMIX, "dataset": "demo", "encoder": "toy"})
    (line,) = known.rivals([record(attack="mine"), record(attack="mine"), record(attack="unmix")])
    assert line == "demo, toy, texthide: published attacks find unmix 0.990 (1000 × 1)"


def test_with_part_of_the_examples_in_the_list_it_is_said_what_the_leak_is_a_share_of(board: Any) -> None:
    board()
    half = record().replace(protocol=record().protocol.replace(coverage=0.5))
    said = known.assumption([half])
    assert (
        said
        == "Only 50 % of the private examples are in the attacker's list of candidates; the leak is a share of those."
    )
    assert "Assumed: every private example" in str(known.assumption([half, record()]))
