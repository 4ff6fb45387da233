"""`--dry-run`: what there is to do, from stored records, without doing anything."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.experiment import provenance
from bench.records import store
from bench.scheduling.dry_run import plan
from bench.scheduling.settings import RunSettings
from tests.helpers.cli import PLUGINS, TINY
from tests.helpers.tasks import attack_tasks, training_tasks

Run = Callable[..., subprocess.CompletedProcess[str]]
COUNTING = ("--plugin", str(PLUGINS / "counting.py"))
TOY = str(PLUGINS / "toy.py")


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(bench: Run, tmp_path: Path) -> None:
    names = ("--defense", "none", "--attack", "rss", "--attack", "counts")
    cells = ("run", *names, *TINY, *COUNTING, "--encoder", "toy:dim=7")
    before = json.loads(bench(*cells, "--dry-run", "--json").stdout)
    assert [row["state"] for row in before["tasks"]] == ["to run"] * 4
    assert {row["expected_s"] for row in before["tasks"]} == {None}
    missing = {row["encoder"]: row["missing"] for row in before["vectors"]}
    assert missing["toy:dim=7"] == 120
    assert not (tmp_path / "home" / "results").exists()
    assert bench("run", "--defense", "none", "--attack", "rss", *TINY).returncode == 0
    after = json.loads(bench(*cells, "--dry-run", "--json").stdout)
    first = after["tasks"][0]
    assert first["state"] == "on record"
    assert first["expected_s"] > 0
    assert first["expected_mib"] > 10
    assert [row["expected_s"] for row in after["tasks"] if row["attack"] == "counts"] == [None, None]
    assert after["expected_s"] > 0
    first_attack = (*cells[:3], "--attack", "rss", *TINY)
    more = json.loads(bench(*first_attack, "--details", "--dry-run", "--json").stdout)
    assert [row["state"] for row in more["tasks"]] == ["incomplete"]
    said = bench(*first_attack, "--details", "--dry-run").stdout
    assert "1 record has a result, but not the samples or details that are asked for" in said
    again = bench(*first_attack, "--details")
    assert "1 record lacks the samples or details that are asked for: it is run again" in again.stderr
    assert "3 to run" in bench(*cells, "--dry-run").stdout


def test_stale_records_count_as_work(tmp_path: Path) -> None:
    fresh, stale, missing = attack_tasks(["rss"], [0, 1, 2])
    (training,) = training_tasks()
    metrics = {"jaccard": {"value": 0.5, "low": 0.4, "high": 0.6, "random": 0.1}}
    for task, changed in ((fresh, {}), (stale, {"attack": "before"})):
        record = task.about.replace(cost={"attack_s": 2.0, "peak_mib": 50.0}, metrics=metrics)
        code = {**record.code, **provenance.scoring_code(record), **changed}
        store.save(tmp_path, record.replace(code=code))
    found = plan([fresh, stale, missing, training], RunSettings(out=tmp_path, executor="local://2"))
    assert [task.state for task in found.tasks] == ["on record", "stale", "to run", "to run"]
    assert [task.attack for task in found.tasks] == ["rss", "rss", "rss", None]
    assert found.tasks[2].expected_s == 2.0
    assert found.tasks[3].expected_s is None
    assert found.expected_s == 3.0  # three of 2 s on two workers; training is unknown and taken for average


def test_texts_are_not_counted_where_none_are_needed(bench: Run) -> None:
    audited = bench("audit", "--defense", "dp-ie-laplace", "--encoder", "toy", "--plugin", TOY, "--dry-run")
    assert "2 in all, 2 to run" in audited.stdout
    assert "0 of 0 texts" not in audited.stdout
