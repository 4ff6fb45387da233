"""Kept guesses are scored again without an attack: the same numbers by the same code, and a word where it cannot be."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.errors import DataError
from bench.experiment import rescore
from bench.experiment.rescore import Rescorer
from bench.plugins.registry import Registry
from bench.records import guesses, store
from tests.helpers.cli import PLUGINS, TINY

Run = Callable[..., subprocess.CompletedProcess[str]]
TOY = str(PLUGINS / "toy.py")


@pytest.fixture
def record(bench: Run, tmp_path: Path) -> Path:
    done = bench(
        "run", "--defense", "mix-only:k=2", "--attack", "rss", *TINY, "--details", "--out", str(tmp_path / "out")
    )
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").glob("*.json")
    return path


def again(path: Path) -> rescore.Rescored:
    return Rescorer(Registry((TOY,)), "cpu").rescore(path, lambda text: None)


def edited(path: Path, **changes: Any) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**found, **changes}), encoding="utf-8")


def test_the_same_code_gives_the_same_record(record: Path) -> None:
    found = again(record)
    assert found.new == found.old
    assert not found.differences
    assert not found.recoded


def test_changed_numbers_are_put_right_and_told(record: Path, bench: Run) -> None:
    right = record.read_text(encoding="utf-8")
    about = json.loads(right)
    wrong = {**about["metrics"], "recall": {**about["metrics"]["recall"], "value": 0.123}}
    edited(record, metrics=wrong, code={**about["code"], "scoring": "0" * 16})
    details = record.with_suffix(".parquet")
    details.unlink()
    dry = bench("rescore", about["id"][:8], "--results", str(record.parent), "--plugin", TOY, "--dry-run")
    assert "metrics.recall.value: 0.123 →" in dry.stdout
    assert json.loads(record.read_text())["metrics"]["recall"]["value"] == 0.123
    done = bench("rescore", "--results", str(record.parent), "--plugin", TOY)
    assert done.returncode == 0, done.stderr
    assert "1 with other numbers" in done.stdout
    assert record.read_text(encoding="utf-8") == right
    assert not details.exists()  # only what was asked for is kept


def test_a_new_metric_joins_an_old_record(record: Path) -> None:
    about = json.loads(record.read_text())
    few = {name: value for name, value in about["metrics"].items() if name != "hit"}
    edited(record, metrics=few)
    found = again(record)
    assert found.new.metrics.keys() == about["metrics"].keys()
    assert {d.where.split(".")[1] for d in found.differences} == {"hit"}


def test_a_record_without_its_guess_is_skipped_with_the_reason(record: Path, bench: Run) -> None:
    guesses.path_beside(record).unlink()
    done = bench("rescore", str(record.parent), "--plugin", TOY)
    assert done.returncode == 1
    assert "guess.npz is not beside it" in done.stderr
    assert "Traceback" not in done.stderr
    edited(record, guess=None)
    with pytest.raises(DataError, match="its guess was not kept"):
        again(record)
    edited(record, status="failed")
    with pytest.raises(DataError, match="nothing was scored"):
        again(record)


def test_a_guess_for_another_release_is_not_scored(record: Path) -> None:
    about = json.loads(record.read_text())
    edited(record, code={**about["code"], "defense": "0" * 16})
    with pytest.raises(DataError, match="the code of defense has changed since"):
        again(record)


def test_a_guess_that_does_not_fit_is_not_scored(record: Path) -> None:
    data, about = guesses.pack(store.parse(record) and _ranking())
    guesses.save(record, data)
    edited(record, guess=about.to_dict())
    with pytest.raises(DataError, match="does not fit the release: the ranking has shape"):
        again(record)


def test_an_unknown_record_is_a_usage_error(bench: Run) -> None:
    done = bench("rescore", "nothing")
    assert done.returncode == 2
    assert "nothing: no record of this id" in done.stderr


def _ranking() -> Any:
    from bench import Guess

    return Guess(ranking=np.zeros((3, 1), dtype=np.int64))
