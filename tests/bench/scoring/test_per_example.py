"""What a record keeps of each example, and the suites that it belongs to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import Key
from bench.records.model import Outcomes
from bench.scoring import per_example
from bench.scoring.kinds import Scores
from bench.scoring.truth import Truth
from bench.types import Examples
from tests.helpers.cli import PLUGINS

Run = Callable[..., subprocess.CompletedProcess[str]]
SUITE = """
version = {version}
dataset = "demo"
encoder = "toy"
examples = 40
candidates = 120
attack = "rss"
defense = ["none", "mix-only:k=2"]
{more}
"""


@dataclass(frozen=True)
class Stored:
    outcomes: Outcomes | None


@dataclass(frozen=True)
class Wanted:
    samples: int = 3
    answers: bool = False


def _truth(owner: list[int], n: int) -> Truth:
    rows = np.array(owner)
    key = Key(rows, rows[:, None], np.ones((len(rows), 1), np.float32))
    private = Examples([f"sentence {i}" for i in range(n)], np.zeros(n), ("a",))
    return Truth(private, np.zeros((n, 2), np.float32), key, None, np.zeros(n))  # type: ignore[arg-type]


def test_a_ranking_leaks_what_is_named_of_each_example_over_its_items() -> None:
    truth = _truth([0, 1, 1, 2], 4)
    scores = Scores({}, {"recall": np.array([1.0, 0.5, 0.0, np.nan])}, {}, truth.key.owner, "recall")
    packed = per_example.of(truth, scores)
    assert packed is not None
    assert packed["metric"] == "recall"
    found = per_example.values(Stored(Outcomes(**packed)))
    np.testing.assert_array_equal(found, [1.0, 0.25, np.nan, np.nan])  # one not in the corpus, one in no item


def test_vectors_leak_what_is_matched_to_each_example() -> None:
    truth = _truth([0, 1, 1, 0, 1, 0], 2)
    scores = Scores({}, {"success": np.array([0.0, 1.0])}, {}, np.arange(2), "success")
    packed = per_example.of(truth, scores)
    assert packed is not None
    assert packed["metric"] == "success"
    np.testing.assert_array_equal(per_example.values(Stored(Outcomes(**packed))), [0.0, 1.0])


def test_an_attack_without_a_corpus_has_no_leak_to_speak_of() -> None:
    scores = Scores({}, {"cosine": [1, 1]}, {}, np.arange(2), "success")
    assert per_example.of(_truth([0, 1], 2), scores) is None
    assert per_example.values(Stored(None)) is None
    assert per_example.headline(Stored(None)) is None


@pytest.fixture
def suite(bench: Run, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    def call(name: str, version: int = 1, more: str = "") -> list[dict[str, Any]]:
        path = tmp_path / f"{name}.toml"
        path.write_text(SUITE.format(version=version, more=more))
        done = bench("run", "--suite", str(path), "--plugin", str(PLUGINS / "toy.py"), "--json")
        assert done.returncode == 0, done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)
        return found

    return call


def test_records_carry_the_versions_of_their_suites_and_are_run_once(suite: Callable[..., Any]) -> None:
    first = suite("a")
    assert [r["suites"] for r in first] == [{"a": 1}, {"a": 1}]
    other = suite("b", 3)
    assert [r["suites"] for r in other] == [{"a": 1, "b": 3}] * 2
    assert [r["cost"] for r in other] == [r["cost"] for r in first]  # tagged, not run again
    assert [r["suites"] for r in suite("a", 2)] == [{"a": 2, "b": 3}] * 2
    for record in first:
        leak = per_example.values(Stored(Outcomes(**record["outcomes"])))
        mean = float(np.nanmean(leak))
        assert mean == pytest.approx(record["metrics"]["recall"]["value"], abs=2e-3)


def test_samples_are_kept_where_a_suite_asks_and_wrong_answers_only_on_demand(suite: Callable[..., Any]) -> None:
    assert all(r["samples"] is None for r in suite("plain"))
    none, mixed = suite("few", more="samples = 12")
    assert len(none["samples"]) == len(mixed["samples"]) == 12
    assert all(s["answer"] == s["example"] and s["right"] for s in none["samples"])
    assert any(s["answer"] is None for s in mixed["samples"])
    assert all(s["answer"] in (None, s["example"]) for s in mixed["samples"])


def test_samples_are_of_the_first_seed_alone(suite: Callable[..., Any]) -> None:
    found = suite("seeds", more="samples = 2\nseed = [3, 1]")
    assert {r["seed"]: len(r["samples"] or []) for r in found} == {3: 2, 1: 0}


def test_a_suite_that_wants_more_gets_it_and_one_that_wants_less_takes_what_is_there(suite: Callable[..., Any]) -> None:
    suite("few", more="samples = 1")
    _, mixed = suite("open", more="samples = 12\nanswers = true")
    assert len(mixed["samples"]) == 12
    assert all(s["answer"] for s in mixed["samples"])
    assert mixed["suites"] == {"few": 1, "open": 1}  # run again, it still belongs to the first
    _, again = suite("few", more="samples = 1")
    assert again == mixed


def test_samples_are_of_the_same_examples_whatever_the_defense(suite: Callable[..., Any]) -> None:
    none, mixed = suite("few", more="samples = 3")
    assert [s["example"] for s in none["samples"]] == [s["example"] for s in mixed["samples"]]


def test_an_attack_that_names_no_sentences_has_no_samples() -> None:
    items = {"example": ["a"], "answer": [""], "cosine": [0.5]}
    assert per_example.samples(Wanted(), Scores({}, items, {}, np.arange(1), "success")) == []


def test_a_version_that_is_no_number_is_refused(bench: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(SUITE.format(version='"one"', more=""))
    done = bench("run", "--suite", str(path), "--plugin", str(PLUGINS / "toy.py"))
    assert done.returncode == 2
    assert "version = 'one': a whole number was expected" in done.stderr
