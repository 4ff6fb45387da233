"""What a suite names and no record answers, on suites written for the test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.board import missing
from bench.board.missing import SuiteCoverage
from bench.records.model import AttackRecord, UtilityRecord
from tests.helpers.records import REGISTRY, attack_record, utility_record

WriteSuite = Callable[[str], None]

ATTACKS = """
title = "Two data sets"
version = 3
differs = "in nothing"
dataset = ["cola", "sst2"]
attack = "rss"
encoder = "minilm"
defense = ["none", "mix-only"]
seed = [0, 1]
"""
# Of a protocol with all sizes given, each of which a record must have.
SIZED = """
dataset = "cola"
attack = "rss"
encoder = "minilm"
defense = "none"
seed = [0, 7]
examples = 4
epochs = 2
candidates = 20
coverage = 0.5
split = "dev"
"""
SIZES = {"epochs": 2, "candidates": 20, "coverage": 0.5, "split": "dev"}
TRAINING = """
dataset = "sst2"
encoder = "minilm"
defense = ["none", "texthide"]
seed = [0, 1]
"""
FOREIGN = "no record is of a cell that this project's suite of that name has"
UNREADABLE = "its file names what is not installed here, or is damaged"


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteSuite:
    monkeypatch.setattr(missing, "suites_dir", lambda: tmp_path)

    def write(text: str) -> None:
        (tmp_path / "s.toml").write_text(text)

    return write


def of_attacks(*records: AttackRecord) -> SuiteCoverage:
    return missing.coverage("s", records, [], REGISTRY)


def of_training(*records: UtilityRecord) -> SuiteCoverage:
    return missing.coverage("s", [], records, REGISTRY)


def counts(found: SuiteCoverage) -> tuple[int, int, str]:
    return sum(found.missing.values()), sum(found.named.values()), found.problem


def test_every_cell_is_counted_at_its_data_set_and_encoder(suite: WriteSuite) -> None:
    suite(ATTACKS)
    found = of_attacks(
        attack_record("none"), attack_record("mix-only", seed=1), attack_record("none", seed=1, dataset="sst2")
    )
    assert (found.title, found.version, found.differs, found.problem) == ("Two data sets", 3, "in nothing", "")
    assert found.places == [("cola", "minilm", 2, 4), ("sst2", "minilm", 3, 4)]


def test_what_the_suite_does_not_name_answers_nothing(suite: WriteSuite) -> None:
    suite(ATTACKS)
    named = attack_record("none")
    strangers = [
        attack_record("none", seed=2),
        attack_record("texthide"),
        attack_record("none", "unmix"),
        attack_record("none", encoder="mpnet"),
        attack_record("none", seed=1, protocol={"coverage": 0.5}),
        attack_record("none", seed=1, public={"name": "sst2", "label": "sst2", "fingerprint": "p"}),
    ]
    assert counts(of_attacks(named, *strangers)) == (7, 8, "")


@pytest.mark.parametrize("size", SIZES)
def test_a_record_of_another_size_is_no_answer(suite: WriteSuite, size: str) -> None:
    suite(SIZED)
    answer = attack_record(seed=0, protocol=SIZES)
    defaults = attack_record().protocol
    other = attack_record(seed=7, protocol={**SIZES, size: getattr(defaults, size)})
    assert counts(of_attacks(answer, other)) == (1, 2, "")
    assert counts(of_attacks(answer, attack_record(seed=7, protocol=SIZES))) == (0, 2, "")


def test_a_small_data_set_may_be_taken_whole_unless_the_suite_says_how_many(suite: WriteSuite) -> None:
    few, many = [1.0] * 3, [1.0] * 2000
    suite(ATTACKS)
    assert counts(of_attacks(attack_record("none", leak=few))) == (7, 8, "")
    assert counts(of_attacks(attack_record("none", leak=many))) == (0, 0, FOREIGN)  # more than the paper's 1000
    suite(SIZED)
    assert counts(of_attacks(attack_record(leak=few, protocol=SIZES))) == (0, 0, FOREIGN)


def test_training_is_answered_by_any_number_of_epochs_unless_the_suite_says_how_many(suite: WriteSuite) -> None:
    records = [
        utility_record("none", 0.9, training={"epochs": 5}),
        utility_record("texthide", 0.6, seed=1, training={"epochs": 8}),
        utility_record("texthide", 0.6, seed=9, training={"epochs": 5}),
    ]
    suite(TRAINING)
    assert of_training(*records).places == [("sst2", "minilm", 2, 4)]
    suite(TRAINING + "train_epochs = 5\n")
    assert of_training(*records).places == [("sst2", "minilm", 3, 4)]


def test_a_suite_without_a_file_here_has_no_title_and_nothing_missing(suite: WriteSuite) -> None:
    assert of_attacks(attack_record()) == SuiteCoverage(problem="its file is not among the suites of this project")


def test_somebody_elses_suite_of_that_name_is_told_from_an_unfinished_one(suite: WriteSuite) -> None:
    suite(ATTACKS)
    assert of_attacks(attack_record("theirs", "mine")) == SuiteCoverage(problem=FOREIGN)


@pytest.mark.parametrize(
    "text", ["title = ", ATTACKS.replace("mix-only", "nobody-knows"), ATTACKS + "sede = 3\n", "version = 'two'\n"]
)
def test_a_file_that_cannot_be_read_is_a_problem_and_its_reason_is_logged(
    suite: WriteSuite, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    suite(text)
    assert of_attacks(attack_record()) == SuiteCoverage(problem=UNREADABLE)
    assert "suite s: what is missing is not known: " in caplog.text


def test_a_file_that_is_no_text_is_a_problem_too(
    suite: WriteSuite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "s.toml").write_bytes(b"title = '\xff'")
    assert of_attacks(attack_record()).problem == UNREADABLE
