"""The ledger joins versions of code that compute the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import DataError
from bench.records import ledger
from bench.records.ledger import Equivalence, Ledger


def entry(before: str, after: str, component: str = "attack") -> Equivalence:
    about = {"component": component, "from": before, "to": after, "reason": "a refactoring", "replayed": ["a1"]}
    return Equivalence.model_validate({**about, "agreement": "bit for bit"})


def test_hashes_are_joined_over_several_entries_and_both_ways() -> None:
    known = Ledger([entry("a", "b"), entry("b", "c"), entry("x", "y")])
    assert known.joins("attack", "a", "c")
    assert known.joins("attack", "c", "a")
    assert not known.joins("attack", "a", "x")
    assert not known.joins("scoring", "a", "b")
    assert known.joins("scoring", "same", "same")


def test_a_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "equivalent.toml"
    entries = [entry("b", "c", "scoring"), entry("a", "b", "setup")]
    ledger.write(path, entries)
    assert ledger.read(path).entries == entries[::-1]  # in the order of the components
    assert path.read_text(encoding="utf-8").startswith("# Hashes of code")


def test_where_there_is_no_file_nothing_is_joined(tmp_path: Path) -> None:
    assert ledger.read(tmp_path / "none.toml").entries == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[equivalent]]\ncomponent = 'attic'\n", "equivalent.0.component = 'attic'"),
        ("[[equivalent]]\n", "equivalent.0.component: is missing"),
        ("equivalent = 3\n", "equivalent = 3: a list was expected"),
        ("[[equivalent", "not a TOML file"),
    ],
)
def test_a_damaged_ledger_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "equivalent.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"equivalent\.toml") as caught:
        ledger.read(path)
    assert said in str(caught.value)
