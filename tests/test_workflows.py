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
    """The plan job's own script, as GitHub would run it: with pipefail only if the workflow names its shell."""
    assert load("leaderboard.yml")["defaults"] == {"run": {"shell": "bash"}}
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
    suites = {path.stem for path in (ROOT / "leaderboards" / "suites").glob("*.toml")}
    assert set(chosen("schedule")) == suites - {"submission"}  # which is for sealed runs
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


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_only_main_is_published_and_nothing_is_merged_or_unpacked_over_a_checkout() -> None:
    jobs = load("leaderboard.yml")["jobs"]
    writing = {name for name, job in jobs.items() if "write" in (job.get("permissions") or {}).values()}
    assert writing == {"publish", "deploy"}
    assert all(jobs[name]["if"] == "github.ref == 'refs/heads/main'" for name in writing)
    assert not any("strategy" in job for job in jobs.values())
    (taken,) = (s for s in jobs["publish"]["steps"] if s.get("uses", "").startswith("actions/download-artifact@"))
    assert taken["with"]["path"].startswith("${{ runner.temp }}/")
    assert jobs["publish"]["steps"][0]["with"]["ref"] == "${{ needs.run.outputs.sha }}"
    (kept,) = (s for s in jobs["run"]["steps"] if s.get("uses", "").startswith("actions/upload-artifact@"))
    assert not {"leaderboards", "leaderboards/suites"} & set(kept["with"]["path"].split())


def test_publishing_keeps_what_others_pushed_and_runs_no_hook(tmp_path: Path) -> None:
    """The publish job's own script, on a main that went on while the suites ran."""
    origin, other, checkout, made = (tmp_path / name for name in ("origin.git", "other", "checkout", "board"))
    git(tmp_path, "init", "--bare", str(origin))
    git(tmp_path, "clone", str(origin), str(other))
    (other / "leaderboards" / "boards").mkdir(parents=True)
    (other / "leaderboards" / "boards" / "gone.md").write_text("old")
    (other / "README.md").write_text("old\n")
    git(other, "add", "."), git(other, "commit", "-m", "one"), git(other, "push", "origin", "HEAD:main")
    git(tmp_path, "clone", str(origin), str(checkout))
    git(checkout, "checkout", "--detach")
    (other / "leaderboards" / "suites").mkdir()
    (other / "leaderboards" / "suites" / "mine.toml").write_text("version = 2")
    git(other, "add", "."), git(other, "commit", "-m", "two"), git(other, "push", "origin", "HEAD:main")
    (made / "leaderboards" / "boards").mkdir(parents=True)
    (made / "leaderboards" / "boards" / "main.md").write_text("new")
    (made / "leaderboards" / "suites").mkdir()
    (made / "leaderboards" / "suites" / "mine.toml").write_text("version = 1")
    (made / "README.md").write_text("new\n")
    hook = checkout / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch harmed\n")
    hook.chmod(0o755)
    (step,) = (s for s in load("leaderboard.yml")["jobs"]["publish"]["steps"] if "run" in s)
    script = step["run"].replace("${{ github.sha }}", "abc")
    env = {**os.environ, "BOARD": str(made)}
    for _ in range(2):  # the second time there is nothing to say
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=checkout, env=env, capture_output=True)
        assert done.returncode == 0, done.stderr
    assert not (checkout / "harmed").exists()
    assert git(origin, "log", "--format=%s", "main").split("\n")[:3] == ["Board: records of abc", "two", "one"]
    files = git(origin, "ls-tree", "-r", "--name-only", "main").split()
    assert files == ["README.md", "leaderboards/boards/main.md", "leaderboards/suites/mine.toml"]
    assert git(origin, "show", "main:leaderboards/suites/mine.toml") == "version = 2"
    # A link would be written through, or would show what it points to.
    (made / "leaderboards" / "boards" / "link.md").symlink_to("/etc/hostname")
    assert subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=checkout, env=env).returncode == 1


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed: apt-get install jq")
def test_a_suite_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    """The run job's own script, with a bench that fails."""
    (step,) = (s for s in load("leaderboard.yml")["jobs"]["run"]["steps"] if "SUITES" in s.get("env", {}))
    for name, text in {"one": 'attack = "rss"', "two": "seed = 0"}.items():
        (tmp_path / "leaderboards" / "suites").mkdir(parents=True, exist_ok=True)
        (tmp_path / "leaderboards" / "suites" / f"{name}.toml").write_text(text)
    program = tmp_path / ".venv" / "bin" / "bench"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@" >> called\nexit 2\n')
    program.chmod(0o755)
    env = {**os.environ, "SUITES": '["one","two"]'}
    subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=env, check=True)
    first, second = (tmp_path / "called").read_text().splitlines()
    assert first.startswith("run --timeout 14400 --suite one --jobs ")  # as long as texthide-table2 asks for
    assert second.startswith("utility --suite two --jobs ")
