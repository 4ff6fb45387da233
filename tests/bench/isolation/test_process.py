"""Attacks that misbehave cost their own cell, with a reason a person understands, and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import PLUGINS, TINY, load_records
from tests.helpers.processes import is_alive, wait_until

Run = Callable[..., subprocess.CompletedProcess[str]]
HOSTILE = ("--plugin", str(PLUGINS / "hostile.py"))
pytestmark = pytest.mark.usefixtures("warm_cache")

REASONS = {
    "peeks": "add 'corpus' to sees",
    "raises": "RuntimeError: the dog ate it (hostile.py, line",
    "sleeps": "longer than its limit of 8 s",
    "hoards": "more than its memory limit of 1500 MiB",
    "short": "expected 40 × t",
    "floats": "expected whole row numbers",
    "empty": "exactly one of ranking, vectors, texts, images",
    "nothing": "returned NoneType, not a Guess",
    "garbage": "sent garbage",
    "pickles": "failed",
    "crashes": "ended by SIGABRT",
    "dies-asking": "ended by SIGABRT",
    "nan-vectors": "NaN",
}


@pytest.fixture(scope="module")
def all_at_once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run of rss and everything hostile together."""
    import os
    import sys

    folder = tmp_path_factory.mktemp("hostile")
    names = [a for name in ("rss", *REASONS, "talks") for a in ("--attack", name)]
    command = [sys.executable, "-m", "bench", "run", "--defense", "mix-only", *names, *TINY, *HOSTILE]
    command += ["--timeout", "8", "--memory", "1500", "--json"]
    done = subprocess.run(command, cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=300)
    records = {r["attack"]["name"]: r for r in json.loads(done.stdout)}
    return {"status": done.returncode, "records": records, "folder": folder}


@pytest.mark.parametrize("name", REASONS)
def test_a_misbehaving_attack_is_recorded_as_failed_with_the_reason(name: str, all_at_once: dict[str, Any]) -> None:
    record = all_at_once["records"][name]
    assert record["status"] == ("timeout" if name == "sleeps" else "failed")
    said = record["error"] if name != "pickles" else record["status"]
    assert REASONS[name] in said
    assert "\n" not in record["error"]
    assert record["metrics"] == {}


def test_the_run_says_so_by_its_status_and_keeps_the_rest(
    all_at_once: dict[str, Any], bench: Run, tmp_path: Path
) -> None:
    assert all_at_once["status"] == 1
    assert all_at_once["records"]["rss"]["status"] == "ok"
    assert all_at_once["records"]["talks"]["status"] == "ok"
    done = bench("run", "--defense", "mix-only", "--attack", "rss", *TINY, "--json")
    assert done.returncode == 0
    alone = load_records(tmp_path / "home" / "results")
    together = load_records(all_at_once["folder"] / "results")
    assert alone.items() <= together.items()


def test_an_attack_gets_all_that_it_declared(bench: Run) -> None:
    done = bench("run", "--defense", "texthide:m=3,k=2", "--attack", "asks", *TINY, *HOSTILE, "--json")
    (record,) = json.loads(done.stdout)
    assert record["status"] == "ok", record["error"]
    found = record["details"]
    assert found["oracle"] == [20, 32]
    assert found["own"] == [40, 32]
    assert found["owner"] == 40
    assert found["same"] is True
    assert found["labels"] < 1e-5
    assert (found["name"], found["k"]) == ("texthide", 2)


def test_vectors_are_scored_by_matching(bench: Run) -> None:
    done = bench("run", "--defense", "none", "--attack", "confident", *TINY, *HOSTILE, "--json")
    (record,) = json.loads(done.stdout)
    assert record["metrics"]["success"]["value"] == 1
    assert record["metrics"]["cosine"]["value"] == pytest.approx(1, abs=1e-6)
    assert record["metrics"]["error"]["value"] == pytest.approx(0, abs=1e-6)


def test_a_process_left_behind_is_ended_with_its_cell(bench: Run, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    done = bench("run", "--defense", "none", "--attack", f"forks:marker={marker}", *TINY, *HOSTILE)
    assert done.returncode == 0, done.stderr
    left = int(marker.read_text())
    wait_until(lambda: not is_alive(left), seconds=30)


def test_the_peak_is_the_attacks_own_and_not_the_parents(tmp_path: Path) -> None:
    import numpy as np

    from bench import Corpus, Release
    from bench.isolation import process, view
    from bench.plugins.registry import Registry
    from tests.helpers.scenarios import surfaces_of

    ballast = np.ones(1 << 27)  # 1 GiB in the parent
    vectors = np.eye(40, dtype=np.float32)
    view.write(
        tmp_path, {"encodings", "corpus"}, surfaces_of(Release(vectors, vectors)), corpus=Corpus([""] * 40, vectors)
    )
    entry = Registry().get("attack", "rss")
    task = {"kind": "attack", "name": "rss", "module": entry.module, "cls": entry.cls, "options": {"top": 1}}
    outcome = process.run(tmp_path, task, 0, limits=process.Limits(), oracle=lambda v: v, stage=lambda t: None)
    assert outcome.status == "ok", outcome.reason
    assert 10 < outcome.peak_mib < 500
    assert ballast[0] == 1
