"""Forged records: every one is found by `bench records verify`, or does not come out in `bench records replay`."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.experiment.identity import identity
from bench.records import store
from bench.records.model import AttackRecord
from tests.helpers.cli import PLUGINS, TINY

Run = Callable[..., subprocess.CompletedProcess[str]]
Forge = Callable[[dict[str, Any], np.random.Generator], dict[str, Any]]

TOY = ("--plugin", str(PLUGINS / "toy.py"))
COUNT = 100


def outcomes(values: Any) -> dict[str, str]:
    return {"metric": "recall", "values": base64.b64encode(np.asarray(values, dtype="<f2").tobytes()).decode()}


def with_id(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "id": identity(record)}


def metrics_at_zero(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    for metric in record["metrics"].values():
        metric |= {"value": 0.0, "low": 0.0, "high": 0.0}
    return record


def invented_id(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**record, "id": f"{rng.integers(2**62):016x}"}


def of_the_future(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    record["cost"]["ended"] = f"{rng.integers(2100, 3000)}-01-01T00:00:00Z"
    return record


def of_no_version(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**record, "suites": {"main": 999999}}


def wrong_interval(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    record["metrics"]["recall"] |= {"low": 0.9, "high": 0.1}
    return record


def unsalted(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return with_id({**record, "sealed": True, "salt": None})


def other_label(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    record["defense"]["label"] = "texthide"
    return record


def other_seed(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**record, "seed": int(rng.integers(100, 1000))}


def other_outcomes(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    mean = record["metrics"]["recall"]["value"]
    return {**record, "outcomes": outcomes(np.full(record["protocol"]["examples"], 0.0 if mean > 0.5 else 1.0))}


def no_outcomes(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**metrics_at_zero(record, rng), "outcomes": None}


def consistent_numbers(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Metrics and outcomes that agree with each other, and with no run."""
    values = rng.integers(0, 2, record["protocol"]["examples"])
    number = {
        "value": float(values.mean()),
        "low": max(0.0, values.mean() - 0.1),
        "high": min(1.0, values.mean() + 0.1),
    }
    record["metrics"]["recall"] |= number
    return {**record, "outcomes": outcomes(values)}


def other_budget(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**record, "notes": {"nominal": {"epsilon": 0.1}, "accounted": {"epsilon": 0.1}}}


def sees_less(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    record["attack"]["sees"] = ["encodings"]
    return with_id(record)


def smaller_random_level(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    record["metrics"]["recall"] |= {"random": 0.0, "random_low": 0.0, "random_high": 0.0}
    return record


def made_up_samples(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {**record, "samples": [{"example": "never released", "answer": "never released", "right": True}]}


def other_data(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    record["dataset"]["fingerprint"] = f"{rng.integers(2**62):016x}"
    return with_id(record)


BY_ITSELF: tuple[Forge, ...] = (
    *(metrics_at_zero, invented_id, of_the_future, of_no_version, wrong_interval, unsalted, other_label, other_seed),
    *(other_outcomes, no_outcomes),
)
BY_REPLAY: tuple[Forge, ...] = (
    *(consistent_numbers, other_budget, sees_less, smaller_random_level, made_up_samples, other_data),
)


@pytest.fixture
def real(bench: Run, tmp_path: Path) -> list[AttackRecord]:
    words = ("--defense", "none", "--defense", "mix-only:k=2", "--attack", "rss", "--seed", "0", "1", "2")
    assert bench("run", *words, *TINY).returncode == 0
    found = store.read_all(tmp_path / "home" / "results")
    return [record for record in found if isinstance(record, AttackRecord)]


def forged(real: list[AttackRecord], folder: Path) -> Iterator[tuple[str, Path]]:
    """A hundred files of eighteen kinds in `folder`, with what each is called."""
    rng = np.random.default_rng(21)
    folder.mkdir()
    for number in range(COUNT):
        record = real[number % len(real)].to_dict()
        kinds = [*BY_ITSELF, *BY_REPLAY, None, None]
        forge = kinds[number % len(kinds)]
        place = folder / f"{number:03d}"
        place.mkdir()
        if forge is not None:
            made = AttackRecord.model_validate(forge(json.loads(json.dumps(record)), rng))
            store.save(place, made)
            yield forge.__name__, store.path_of(place, made)
            continue
        store.save(place, real[number % len(real)])
        path = store.path_of(place, real[number % len(real)])
        if number % 2:
            yield "renamed", path.rename(place / f"other.{path.name}")
        else:
            second = place / f"zz.{path.name}"
            second.write_bytes(path.read_bytes())
            yield "second file", second


@pytest.mark.slow
def test_a_hundred_forged_records_are_all_found(bench: Run, real: list[AttackRecord], tmp_path: Path) -> None:
    from bench.experiment import integrity
    from bench.experiment.replay import repeat
    from bench.experiment.reproduction import judge
    from bench.plugins.registry import Registry

    registry = Registry((str(PLUGINS / "toy.py"),))
    for record in real:  # what is real is found to be
        assert integrity.problems(record) == []
    again = {record.id: repeat(record, registry, "cpu", lambda text: None) for record in real}
    assert all(judge(record, again[record.id]).outcome == "reproduced" for record in real)
    kinds, missed, by_itself = set(), [], 0
    for kind, path in forged(real, tmp_path / "forged"):
        kinds.add(kind)
        files = store.read_files(path.parent)
        if any(problem.path == path for problem in integrity.check_folder(path.parent, files)):
            by_itself += 1
            continue
        record = files[path]
        if judge(record, repeat(record, registry, "cpu", lambda text: None)).outcome != "not reproduced":
            missed.append((kind, path))
    assert len(kinds) == 18
    assert missed == []
    assert 60 <= by_itself < COUNT


def test_verify_replay_board_and_run_do_not_take_a_forged_record(
    bench: Run, real: list[AttackRecord], tmp_path: Path
) -> None:
    results = tmp_path / "home" / "results"
    rng = np.random.default_rng(0)
    zero = AttackRecord.model_validate(metrics_at_zero(real[0].to_dict(), rng))
    store.save(results, zero)
    checked = bench("records", "verify", *TOY)
    assert checked.returncode == 1
    assert f"wrong: {store.path_of(results, zero).name}: metrics.recall 0.0 is not the mean" in checked.stdout
    board = bench("leaderboard", "--out", "board", *TOY)
    assert "is not the mean of its outcomes" in board.stderr
    assert zero.id not in (tmp_path / "home" / "board" / "boards" / "adhoc.csv").read_text()
    tables = bench("leaderboard", "--out", "board", "--check", *TOY)
    assert tables.returncode == 1
    assert "1 of the records cannot be used" in tables.stderr
    # The same command runs it again, and what it writes is real.
    words = ("--defense", real[0].defense.label, "--attack", "rss", "--seed", str(real[0].seed))
    done = bench("run", *words, *TINY)
    assert "run again" in done.stderr
    (mended,) = (record for record in store.read_all(results) if record.id == zero.id)
    assert isinstance(mended, AttackRecord)
    assert mended.metrics == real[0].metrics
    assert bench("records", "verify", *TOY).returncode == 0


@pytest.mark.slow
def test_replay_marks_what_does_not_come_out(bench: Run, real: list[AttackRecord], tmp_path: Path) -> None:
    results = tmp_path / "home" / "results"
    for record in real[2:]:
        store.path_of(results, record).unlink()
    made = consistent_numbers(real[0].to_dict(), np.random.default_rng(0))
    store.save(results, AttackRecord.model_validate(made))
    assert bench("records", "verify", *TOY).returncode == 0  # it agrees with itself
    done = bench("records", "replay", "--sample", "5", "--mark", "--json", *TOY)
    assert done.returncode == 1, done.stderr
    outcome = {row["id"]: row["outcome"] for row in json.loads(done.stdout)}
    assert outcome == {real[0].id: "not reproduced", real[1].id: "reproduced"}
    kinds = {record.id: record.origin and record.origin.kind for record in store.read_all(results)}
    assert kinds == {real[0].id: "not reproduced", real[1].id: "replayed"}
    bench("leaderboard", "--out", "board", *TOY)
    table = (tmp_path / "home" / "board" / "boards" / "adhoc.md").read_text()
    assert "not reproduced: " in table
