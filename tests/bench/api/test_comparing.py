"""Two attacks on the same examples."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import bench
from bench.api.comparing import _compared, compare
from bench.cli.main import main
from bench.errors import UsageError
from bench.records.model import AttackRecord
from tests.bench.api.test_tables import attack_record
from tests.helpers.cli import TINY, load_records


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    attacks = ["--attack", "rss", "--attack", "magnitude-search"]
    assert main(["run", "--defense", "none", "--defense", "texthide", *attacks, *TINY, "--out", str(folder)]) == 0
    return folder


def test_cells_are_paired_and_the_sign_follows_the_order(results: Path) -> None:
    found = {one.defense: one for one in compare("rss", "magnitude-search", results)}
    assert set(found) == {"none", "texthide"}
    swapped = {one.defense: one for one in compare("magnitude-search", "rss", results)}
    for defense, one in found.items():
        assert one.difference == pytest.approx(-swapped[defense].difference)
        assert one.low <= one.difference <= one.high
        assert one.examples == 40
    records = {(r["defense"]["name"], r["attack"]["name"]): r for r in load_records(results).values()}
    shown = records["texthide", "rss"]["metrics"]["recall"]["value"]
    assert found["texthide"].first == pytest.approx(shown, abs=0.02)
    assert found["none"].verdict == "no difference seen"


def test_a_difference_on_every_example_is_told_from_none() -> None:
    def record(values: list[float]) -> AttackRecord:
        packed = base64.b64encode(np.array(values, "<f2").tobytes()).decode()
        return attack_record().replace(outcomes={"metric": "recall", "values": packed})

    found = _compared(record([1, 1, 1, 0] * 10), record([0, 0, 1, 0] * 10))
    assert found.verdict == "first finds more"
    assert found.difference == pytest.approx(0.5)


def test_the_command_prints_a_table_or_json(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "rss", "magnitude-search", "--results", str(results)]) == 0
    assert "paired by private example" in capsys.readouterr().out
    assert main(["compare", "rss", "magnitude-search", "--results", str(results), "--json"]) == 0
    assert {row["defense"] for row in json.loads(capsys.readouterr().out)} == {"none", "texthide"}
    assert main(["compare", str(results), str(results)]) == 0
    assert capsys.readouterr().out.count("no difference seen") == 4


def test_what_cannot_be_compared_is_said(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "rss", "nosuch", "--results", str(results)]) == 2
    assert "unknown record 'nosuch'" in capsys.readouterr().err
    ids = {(r["defense"]["name"], r["attack"]["name"]): i for i, r in load_records(results).items()}
    with pytest.raises(UsageError, match="share no cell"):
        bench.compare(ids["none", "rss"], ids["texthide", "rss"], results)
    with pytest.raises(UsageError, match="no record of a run that ended well"):
        bench.compare(tmp_path, results)
