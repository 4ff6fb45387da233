"""The workflows cannot be run here. What can be checked is what would be dangerous, or would break without a word."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

yaml = pytest.importorskip("yaml")
FOLDER = ROOT / ".github" / "workflows"
NAMES = sorted(path.name for path in FOLDER.glob("*.yml"))


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return found


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("name", NAMES)
def test_every_workflow_starts_with_no_more_than_reading(name: str) -> None:
    assert load(name)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_a_stranger_can_choose_becomes_part_of_a_script(name: str) -> None:
    # A branch, a title or an input may hold `"; rm -rf ~; "`. What GitHub itself makes (a hash) may not.
    safe = {"github.sha", "github.event.before || format('origin/{0}', github.base_ref)"}
    said = {text.strip() for step in steps(load(name)) for text in re.findall(r"\$\{\{(.*?)\}\}", step.get("run", ""))}
    assert said <= safe


@pytest.mark.parametrize("name", NAMES)
def test_only_known_actions_are_used_and_local_ones_exist(name: str) -> None:
    for step in steps(load(name)):
        used = step.get("uses", "actions/none@v1")
        if used.startswith("./"):
            assert (ROOT / used / "action.yml").is_file()
        else:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", used), used


@pytest.mark.parametrize("name", NAMES)
def test_jobs_wait_for_jobs_that_exist_and_no_job_that_writes_runs_code_of_others(name: str) -> None:
    jobs = load(name)["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert ({needs} if isinstance(needs, str) else set(needs)) <= set(jobs)
        if "write" in (job.get("permissions") or {}).values():
            assert not any(re.search(r"\bbench |pip |make ", step.get("run", "")) for step in job["steps"])
            assert not any(step.get("uses", "").startswith("./") for step in job["steps"])


def plan(event: str, suite: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The plan job's own script, as GitHub would run it."""
    (step,) = (s for s in load("leaderboard.yml")["jobs"]["plan"]["steps"] if s.get("id") == "choose")
    wanted = {"push": "smoke", "schedule": "all"}.get(event, suite)
    env = {**os.environ, "WANTED": wanted, "GITHUB_OUTPUT": str(folder / "output")}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]], cwd=ROOT, env=env, capture_output=True, text=True
    )


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed: apt-get install jq")
def test_the_leaderboard_runs_smoke_on_a_push_and_every_suite_once_a_week(tmp_path: Path) -> None:
    def chosen(event: str, suite: str = "") -> Any:
        (tmp_path / "output").write_text("")
        done = plan(event, suite, tmp_path)
        assert done.returncode == 0, done.stderr
        name, _, value = (tmp_path / "output").read_text().strip().partition("=")
        assert name == "suites"
        return json.loads(value)

    assert chosen("push") == ["smoke"]
    assert chosen("schedule") == sorted(path.stem for path in (ROOT / "leaderboards" / "suites").glob("*.toml"))
    assert chosen("workflow_dispatch", "unmix") == ["unmix"]
    done = plan("workflow_dispatch", '"; touch harmed; "', tmp_path)
    assert done.returncode != 0
    assert "no such suite" in done.stderr
    assert not (ROOT / "harmed").exists()


def test_the_leaderboard_workflow_shows_what_it_made() -> None:
    jobs = load("leaderboard.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"contents": "write"}
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert any(step.get("uses", "").startswith("actions/deploy-pages@") for step in jobs["deploy"]["steps"])
