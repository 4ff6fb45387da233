from __future__ import annotations

import math
import re

import numpy as np
import pytest

from bench.board import build, commands, papers
from bench.board.model import Board, BoardCell, CellCost
from bench.errors import BenchError
from bench.plugins.registry import Registry
from bench.records.model import AttackRecord, UtilityRecord
from tests.helpers.records import attack_record, failed_record, utility_record

LEAK = np.arange(100) < 40


def cells(*records: AttackRecord, utility: tuple[UtilityRecord, ...] = ()) -> dict[tuple[str, str], BoardCell]:
    return {(c.defense, c.attack): c for c in build.build(records, utility).cells}


def test_a_cell_pools_seeds_and_says_where_it_comes_from() -> None:
    records = [attack_record(leak=LEAK, seed=s, suites={"main": 1}) for s in (2, 0, 1)]
    (cell,) = cells(*records).values()
    assert cell.suites == ["main"]
    assert cell.seeds == [0, 1, 2]
    assert cell.ids == [records[i].id for i in (1, 2, 0)]
    assert (cell.metric, cell.value, cell.protocol) == ("recall", 0.4, "100 × 1")
    assert cell.low == pytest.approx(0.4 - 0.01 / math.sqrt(3), abs=1e-4)
    assert cell.command == (
        "bench run --defense none --attack rss --dataset cola --encoder minilm --seed 0 1 2 --examples 100 --epochs 1 "
        "--coverage 1.0 --split train"
    )
    assert cell.cost == CellCost(attack_s=1.5, peak_mib=100.0)
    board = build.build(records, [])
    assert Board.model_validate_json(board.dump()) == board


def test_failed_runs_are_counted_and_random_and_sealed_ones_marked() -> None:
    found = cells(
        attack_record(leak=LEAK),
        failed_record(leak=LEAK, seed=1),
        attack_record("texthide", leak=[0.0] * 9),
        attack_record("b", leak=LEAK, sealed=True),
    )
    assert found["none", "rss"].marks == ["failed"]
    assert [f.error for f in found["none", "rss"].failed] == ["the dog ate it"]
    assert found["none", "rss"].value == 0.4
    assert found["texthide", "rss"].marks == ["random"]
    assert found["b", "rss"].marks == ["sealed"]
    assert re.fullmatch(
        r"bench run --replay leaderboards/records/cola\.minilm\.b\.rss\.s0\.\w+\.json --plugin FILE",
        found["b", "rss"].command,
    )
    (lost,) = cells(failed_record(status="timeout")).values()
    assert (lost.value, lost.metric, lost.marks) == (None, None, ["failed"])


def test_a_command_says_every_size_and_that_a_file_is_needed() -> None:
    # rep-recon's own protocol takes queries from dev: train is not what it would take by itself.
    size = {"examples": 4, "epochs": 1, "candidates": 20, "coverage": 0.1 + 0.2, "split": "train"}
    said = commands.repeat_command([attack_record(attack="rep-recon", protocol=size)])
    assert said.endswith("--examples 4 --epochs 1 --candidates 20 --coverage 0.30000000000000004 --split train")
    assert commands.foreign_plugins(attack_record()) == []
    mine = attack_record("mine:k=2", "theirs", public={"name": "papers", "label": "papers", "fingerprint": "p"})
    assert commands.foreign_plugins(mine) == ["defense mine", "attack theirs", "dataset papers"]
    assert commands.repeat_command([mine]).endswith("--public papers --plugin FILE")
    assert commands.repeat_command([utility_record("mine", 0.5)]).endswith("--train-epochs 5 --plugin FILE")


def test_a_newer_version_of_a_suite_supersedes_and_newer_code_too() -> None:
    old = attack_record("a", suites={"s": 1})
    kept = attack_record("b", suites={"s": 2, "t": 1})
    again = attack_record("b", ended="2026-02-02T00:00:00Z")
    found = build.build([again, old, kept], [])
    assert {c.defense: c.suites for c in found.cells} == {"b": ["s", "t"]}
    assert found.cells[0].ids == [again.id]
    assert {n: (s.version, s.superseded) for n, s in found.suites.items()} == {"s": (2, 2), "t": (1, 1)}


def test_a_record_that_lies_there_twice_is_one() -> None:
    record = attack_record(suites={"s": 1})
    found = build.build([record, record.replace()], [])
    assert found.records == 1
    assert found.suites["s"].superseded == 0


def test_suites_that_take_other_seeds_have_other_cells() -> None:
    records = [attack_record(seed=0, suites={"s": 1, "t": 1}), attack_record(seed=1, suites={"t": 1})]
    assert [(c.suites, c.seeds) for c in build.build(records, []).cells] == [(["s"], [0]), (["t"], [0, 1])]


def test_metrics_that_are_none_or_nan_harm_nothing() -> None:
    empty = {name: {"value": value, "low": None, "high": None} for name, value in (("recall", None), ("cosine", 0.5))}
    odd = attack_record("odd", metrics={**empty, "error": {"value": math.nan}})
    found = cells(odd, attack_record(leak=LEAK))["odd", "rss"]
    assert (found.metric, found.value, found.low) == ("cosine", 0.5, 0.5)
    # Not a leak: nothing to rank the defense by.
    (row,) = (r for r in build.build([odd], []).defenses)
    assert (row.worst, row.tier) == (None, None)
    build.build([odd], []).dump()


def test_missing_is_what_the_suite_names_and_no_record_answers() -> None:
    tag = {"texthide-table3": 1}
    sizes = np.arange(1000) < 400
    some = [attack_record(d, leak=sizes, seed=s, suites=tag) for d in ("none", "mix-only") for s in (0, 1, 2)]
    suite = build.build(some, []).suites["texthide-table3"]
    assert suite.missing == 12
    assert suite.places == [("cola", "minilm", 3, 9), ("sst2", "minilm", 9, 9)]
    assert suite.title.startswith("TextHide table 3")
    assert "fine-tune" in suite.differs
    smaller = [attack_record("none", leak=LEAK, suites=tag)]  # all of a small data set; coverage is another matter
    assert build.build(smaller, []).suites["texthide-table3"].missing == 17
    unknown = build.build([attack_record(suites={"nobody-knows": 3})], []).suites["nobody-knows"]
    assert (unknown.missing, unknown.problem) == (0, "its file is not among the suites of this project")


def test_a_suite_of_ones_own_is_not_held_against_the_projects_of_that_name() -> None:
    tag = {"texthide-table3": 1}
    mine = build.build([attack_record("mine", "theirs", suites=tag)], []).suites["texthide-table3"]
    assert (mine.title, mine.missing, mine.places) == ("", 0, [])
    assert mine.problem == "no record is of a cell that this project's suite of that name has"


def test_utility_stands_beside_what_is_undefended() -> None:
    tag = {"texthide-table1": 1}
    trials = [utility_record(d, v, seed=s, suites=tag) for d, v in (("none", 0.9), ("texthide", 0.6)) for s in (0, 1)]
    found = build.build([attack_record("texthide", dataset="sst2")], [*trials, utility_record("odd", None, suites=tag)])
    (row,) = found.defenses
    assert row.utility == {"accuracy": (0.6, 0.0, 0.9, 0.5)}
    hidden = next(p for p in found.utility if p.defense == "texthide")
    (theirs,) = hidden.published
    assert (theirs.metric, theirs.value, theirs.deviation) == ("accuracy", 0.917, 0.0051)
    assert (theirs.table, theirs.source) == ("TextHide table 1", "TextHide table 1, SST-2, intra")
    assert hidden.command.startswith("bench utility --defense texthide --dataset sst2 --encoder minilm --seed 0 1")
    # Frozen and fine-tuned rows of the suite, less the four that are on record.
    assert found.suites["texthide-table1"].missing == 131


def test_rows_of_a_table_take_their_utility_from_one_suite() -> None:
    wide = [
        utility_record(d, v, seed=s, suites={"wide": 1})
        for d, v in (("none", 0.9), ("a", 0.6), ("b", 0.5))
        for s in (0, 1)
    ]
    deep = [utility_record("none", 0.8, seed=s, suites={"deep": 1}) for s in range(5, 10)]
    deep += [utility_record("c", 0.4, seed=s, suites={"deep": 1}) for s in range(5, 10)]
    attacked = [attack_record(d, dataset="sst2") for d in ("none", "a", "b", "c")]

    def undefended(*utility: UtilityRecord) -> dict[str, float]:
        return {r.defense: r.utility["accuracy"].undefended for r in build.build(attacked, utility).defenses}

    assert undefended(*wide, *deep) == {"none": 0.9, "a": 0.9, "b": 0.9, "c": 0.8}
    # As many defenses: the one with more seeds, for every row that it has.
    deep += [utility_record("a", 0.6, seed=s, suites={"deep": 1}) for s in range(5, 9)]
    assert undefended(*wide, *deep) == {"none": 0.8, "a": 0.8, "b": 0.9, "c": 0.8}


def test_settings_stand_in_the_order_of_their_numbers() -> None:
    labels = [
        "dp-ie-laplace:epsilon=1e-05",
        "dp-ie-laplace:epsilon=0.5",
        "dp-ie-laplace",
        "dp-ie-laplace:epsilon=10",
        "other:x=2",
        "other:x=10",
    ]
    labels += ["texthide:m=16", "texthide:k=2", "texthide", "texthide:k=10", "texthide:m=512", "texthide:m=inf"]
    found = build.build([attack_record(d) for d in labels[::-1]], [utility_record(d, 0.5) for d in labels[::-1]])
    assert [c.defense for c in found.cells] == [p.defense for p in found.utility] == labels


def test_published_numbers_stand_beside_the_cells_they_are_of() -> None:
    found = cells(attack_record("texthide", leak=LEAK), attack_record("texthide:m=16", leak=LEAK))
    printed = {"identity": 0.0, "jaccard": 0.023, "tfidf": 0.015, "label": 0.494, "sbert": 0.102}
    assert {p.metric: p.value for p in found["texthide", "rss"].published} == printed
    assert found["texthide:m=16", "rss"].published == []


def test_every_published_number_belongs_to_a_suite_and_names_what_exists() -> None:
    from bench.experiment import cells as planned
    from bench.experiment import suites

    registry = Registry()
    numbers = papers.load(registry)
    assert len(numbers) > 100
    assert {n.suite for n in numbers} <= suites.suites().keys()
    for n in numbers:
        assert 0 <= n.value <= 1
        registry.make("defense", n.defense)
        registry.make("dataset", n.dataset)
        assert not n.attack or planned.Chosen(registry.get("attack", n.attack), registry.make("attack", n.attack)).label


def test_numbers_that_are_no_metrics_of_a_board_are_on_none() -> None:
    docs_only = [n for n in papers.load(Registry()) if not n.on_boards]
    assert {n.metric for n in docs_only} == {"max_ssim", "mean_ssim", "min_l2", "mean_l2"}
    told = attack_record("instahide-cross:k=6", leak=LEAK).replace(suites={"instahide-challenge": 1})
    shown = build.build([told], [])
    assert "instahide-challenge" in shown.suites
    assert not {n.metric for n in shown.published} & {n.metric for n in docs_only}


def test_no_records_is_explained() -> None:
    with pytest.raises(BenchError, match="no records"):
        build.build([], [])
