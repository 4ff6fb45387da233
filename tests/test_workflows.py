"""The workflows cannot be run here. What can be checked is what would be dangerous, or would break without a word."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import ROOT

yaml = pytest.importorskip("yaml")
FOLDER = ROOT / ".github" / "workflows"
NAMES = sorted(path.name for path in FOLDER.glob("*.yml"))
# By commit: a tag can be moved to other code.
PINNED = re.compile(r"(actions|anchore)/[\w-]+@[0-9a-f]{40}")


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return found


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def called(workflow: dict[str, Any]) -> list[str]:
    """Workflows that stand for a job."""
    return [job["uses"] for job in workflow["jobs"].values() if "uses" in job]


@pytest.mark.parametrize("name", NAMES)
def test_every_workflow_starts_with_no_more_than_reading(name: str) -> None:
    assert load(name)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_a_stranger_can_choose_becomes_part_of_a_script(name: str) -> None:
    # A branch, a title or an input may hold `"; rm -rf ~; "`. What GitHub itself makes (a hash) may not.
    said = {text.strip() for step in steps(load(name)) for text in re.findall(r"\$\{\{(.*?)\}\}", step.get("run", ""))}
    assert said == set()  # what is needed comes through the environment


@pytest.mark.parametrize("name", NAMES)
def test_only_known_actions_are_used_and_local_ones_exist(name: str) -> None:
    for step in steps(load(name)):
        used = step.get("uses", "./.github/actions/setup")
        if used.startswith("./"):
            assert (ROOT / used / "action.yml").is_file()
        else:
            assert PINNED.fullmatch(used), used
    for used in called(load(name)):
        assert "workflow_call" in yaml.safe_load((ROOT / used).read_text())[True]  # YAML reads `on` as true


@pytest.mark.parametrize("name", NAMES)
def test_jobs_wait_for_jobs_that_exist_and_no_job_that_writes_runs_code_of_others(name: str) -> None:
    jobs = load(name)["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert ({needs} if isinstance(needs, str) else set(needs)) <= set(jobs)
        if "write" in (job.get("permissions") or {}).values():
            some = job.get("steps", [])  # none: a workflow stands for the job, and is one of these itself
            assert not any(re.search(r"\bbench |pip |make ", step.get("run", "")) for step in some)
            assert not any(step.get("uses", "").startswith("./") for step in some)


def test_actions_are_pinned_by_commit_with_their_version_beside_it() -> None:
    files = [*FOLDER.glob("*.yml"), *(ROOT / ".github" / "actions").rglob("*.yml")]
    lines = [line.strip() for path in files for line in path.read_text().splitlines() if "uses: " in line]
    for line in lines:
        used, _, version = line.removeprefix("- ").removeprefix("uses: ").partition(" # ")
        if not used.startswith("./"):
            assert PINNED.fullmatch(used), line
            assert re.fullmatch(r"v\d+(\.\d+)*", version), line


def test_credentials_are_kept_where_git_pushes_and_nowhere_else() -> None:
    for name in NAMES:
        for job, about in load(name)["jobs"].items():
            for step in about.get("steps", []):
                if step.get("uses", "").startswith("actions/checkout@"):
                    pushes = (name, job) == ("publish.yml", "publish")
                    assert step["with"]["persist-credentials"] is pushes, (name, job)


def test_a_pull_request_is_compared_with_what_it_was_merged_into(tmp_path: Path) -> None:
    """The submission job's own script: renamed files, names with spaces and helper files count."""
    (step,) = (s for s in load("submission.yml")["jobs"]["run"]["steps"] if s.get("id") == "base")
    assert set(load("submission.yml")[True]["pull_request"]["paths"]) >= {"attacks/**", "leaderboards/records/**"}

    def said() -> dict[str, str]:
        (tmp_path / "output").write_text("")
        env = {**os.environ, "BEFORE": "", "GITHUB_OUTPUT": str(tmp_path / "output")}
        subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=env, check=True)
        return dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())

    def commit(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        git(tmp_path, "add", "."), git(tmp_path, "commit", "-m", path)

    git(tmp_path, "init")
    commit("attacks/one.py", "x = 1"), commit("README", "x")
    assert "attacks" not in said()
    commit("attacks/common/my helper.txt", "y")
    assert said()["attacks"] == "true"
    assert said()["sha"] == git(tmp_path, "rev-parse", "HEAD^1").strip()
    git(tmp_path, "mv", "attacks/one.py", "attacks/two words.py"), git(tmp_path, "commit", "-m", "renamed")
    assert said()["attacks"] == "true"


def test_records_of_a_pull_request_are_checked_and_run_again() -> None:
    said = " ".join(s.get("run", "") for s in load("submission.yml")["jobs"]["records"]["steps"])
    assert "bench records verify --changed-since" in said
    assert "bench records replay --sample 10" in said
    weekly = " ".join(s.get("run", "") for s in load("leaderboard.yml")["jobs"]["run"]["steps"])
    assert "bench records replay --sample 20" in weekly
    assert "--mark" in weekly
    assert "bench records stamp" in weekly


def test_what_is_released_is_tested_listed_and_attested() -> None:
    jobs = load("release.yml")["jobs"]
    said = " ".join(s.get("run", "") for s in jobs["build"]["steps"])
    assert "build --no-isolation" in said
    assert "bench run" in said
    assert any(s.get("uses", "").startswith("anchore/sbom-action@") for s in jobs["build"]["steps"])
    assert any(s.get("uses", "").startswith("actions/attest-build-provenance@") for s in jobs["attest"]["steps"])
    assert "docker build --file Containerfile" in " ".join(s.get("run", "") for s in jobs["container"]["steps"])


def test_a_container_copies_all_that_the_wheel_is_made_of(tmp_path: Path) -> None:
    """As the container builds it, from its own copies, and as the checkout does."""
    here = tmp_path / "here"
    here.mkdir()
    for line in (ROOT / "Containerfile").read_text().splitlines():
        if line.startswith("COPY "):
            *wanted, target = line.split()[1:]
            for name in wanted:
                place = here / target if (ROOT / name).is_dir() else here / target / Path(name).name
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                place.parent.mkdir(parents=True, exist_ok=True)
                copy(ROOT / name, place)
    whole = tmp_path / "whole"
    left = {str(ROOT): {"build", "tests", "results", "dist"}, str(ROOT / "leaderboards"): {"records", "boards"}}
    shutil.copytree(
        ROOT,
        whole,
        ignore=lambda folder, names: left.get(folder, set()) | {n for n in names if n[0] == "." or "egg-info" in n},
    )
    made, wanted_names = (wheel_of(folder, tmp_path / f"{folder.name}-wheel") for folder in (here, whole))
    assert made == wanted_names
    assert "bench/leaderboards/board.json" in made
    assert "bench/docs/concepts.md" in made


def wheel_of(folder: Path, out: Path) -> set[str]:
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-cache-dir")
    subprocess.run([sys.executable, "-m", "pip", "wheel", *quiet, "--wheel-dir", out, folder], check=True)
    (path,) = out.glob("*.whl")
    return set(zipfile.ZipFile(path).namelist())


def test_what_builds_a_wheel_is_of_one_version() -> None:
    import tomllib

    (wanted,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert wanted in (ROOT / "constraints.txt").read_text().splitlines()


def test_every_package_of_ci_has_its_hash_on_file() -> None:
    """Fails after a change of constraints.txt until `python .github/hashes.py > constraints-hashes.txt` was run."""
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    pinned = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pinned.items()}
    text = (ROOT / "constraints-hashes.txt").read_text()
    found = re.findall(r"^([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}$", text, re.MULTILINE)
    assert len(found) == len(text.splitlines()) - 2 > 50
    for name, version in found:
        assert pinned[re.sub(r"[-_.]+", "-", name)] == version.partition("+")[0], name
    assert {"torch", "numpy", "pytest", "ruff", "setuptools"} <= {name for name, _ in found}


def test_hashes_are_those_of_the_files_that_pip_would_install() -> None:
    import runpy

    lines = runpy.run_path(str(ROOT / ".github" / "hashes.py"))["lines"]
    hashed = {"archive_info": {"hashes": {"sha256": "ab" * 32}}}
    report = {
        "install": [
            {"download_info": hashed, "metadata": {"name": "NumPy", "version": "2.0.0"}},
            {"download_info": {"dir_info": {"editable": True}}, "metadata": {"name": "hideseek", "version": "1"}},
        ]
    }
    assert lines(report) == [f"numpy==2.0.0 --hash=sha256:{'ab' * 32}"]
    setup = (ROOT / ".github" / "actions" / "setup" / "action.yml").read_text()
    assert "--require-hashes --no-deps -r constraints-hashes.txt" in setup


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


def test_what_is_published_is_shown() -> None:
    jobs = load("publish.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"contents": "write"}
    assert jobs["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert any(step.get("uses", "").startswith("actions/deploy-pages@") for step in jobs["deploy"]["steps"])


def test_pages_hold_the_board_and_the_docs_and_a_broken_link_stops_them(tmp_path: Path) -> None:
    """The publish job's own script, on a board and docs of a few files."""
    some = load("publish.yml")["jobs"]["build"]["steps"]
    assert "bash .github/pages.sh" in [step.get("run") for step in some]
    (upload,) = (s for s in some if s.get("uses", "").startswith("actions/upload-pages-artifact@"))
    assert upload["with"]["path"] == "pages"
    made = {
        "leaderboards/site/index.html": "board",
        "leaderboards/records/a.json": "{}",
        "docs/index.md": "# Start\n\n[on](other.md)\n",
        "docs/other.md": "# Other\n",
        "mkdocs.yml": "site_name: x\ndocs_dir: docs\nuse_directory_urls: false\n",
    }
    for name, text in made.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def pages() -> int:
        mkdocs = Path(sys.executable).with_name("mkdocs")
        env = {**os.environ, "MKDOCS": str(mkdocs)}
        script = ["bash", str(ROOT / ".github" / "pages.sh")]
        return subprocess.run(script, cwd=tmp_path, env=env, capture_output=True).returncode

    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'hideseek[test]'")
    assert pages() == 0
    first = (tmp_path / "pages" / "index.html").read_text()
    links = re.findall(r'href="([^"]+)"', first)
    assert links == ["site/index.html", "docs/index.html"]
    assert all((tmp_path / "pages" / link).is_file() for link in links)
    assert not (tmp_path / "pages" / "records").exists()
    (tmp_path / "docs" / "other.md").unlink()
    assert pages() != 0


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_only_main_is_published_and_nothing_is_unpacked_over_a_checkout() -> None:
    for name in ("leaderboard.yml", "submission.yml"):
        writing = {
            n: job for n, job in load(name)["jobs"].items() if "write" in (job.get("permissions") or {}).values()
        }
        assert set(writing) == {"publish"}
        assert writing["publish"]["uses"] == "./.github/workflows/publish.yml"
    assert "github.ref == 'refs/heads/main'" in load("leaderboard.yml")["jobs"]["publish"]["if"]
    # Whether or not anything was run anew: a board that was pushed by hand is to be seen as well.
    assert "outputs" not in load("leaderboard.yml")["jobs"]["publish"]["if"]
    # A pull request is a stranger's; what is pushed there can only be pushed to main.
    assert "github.event_name == 'push'" in load("submission.yml")["jobs"]["publish"]["if"]
    assert load("submission.yml")[True]["push"]["branches"] == ["main"]
    jobs = load("publish.yml")["jobs"]
    # Neither of the jobs that unpack has the rights of the other.
    taken = [s for s in steps(load("publish.yml")) if s.get("uses", "").startswith("actions/download-artifact@")]
    assert len(taken) == 3
    assert all(step["with"]["path"].startswith("${{ runner.temp }}/") for step in taken)
    # On main as it is when the board is made, and pushed onto what it was made from.
    assert jobs["build"]["steps"][0]["with"] == {"ref": "main", "persist-credentials": False}
    assert jobs["publish"]["steps"][0]["with"]["ref"] == "${{ needs.build.outputs.sha }}"
    (kept,) = (s for s in jobs["build"]["steps"] if s.get("uses", "").startswith("actions/upload-artifact@"))
    assert not {"leaderboards", "leaderboards/suites"} & set(kept["with"]["path"].split())


class Main:
    """A main that others push to, and the machine of the publish job with a board that was made there."""

    def __init__(self, folder: Path) -> None:
        self.origin, self.other, self.checkout, self.board = (
            folder / name for name in ("origin.git", "other", "checkout", "board")
        )
        git(folder, "init", "--bare", str(self.origin))
        git(folder, "clone", str(self.origin), str(self.other))
        self.push("one", {"boards/gone.md": "old", "records/a.json": "1", "records/b.json": "1", "board.json": "1"})
        git(folder, "clone", str(self.origin), str(self.checkout))
        git(self.checkout, "checkout", "--detach")
        made = {"boards/main.md": "new", "records/a.json": "2", "records/b.json": "1", "records/c.json": "2"}
        self.write(self.board, {**made, "board.json": "1 2", "suites/mine.toml": "version = 1"}, "new\n")

    def write(self, folder: Path, files: dict[str, str], readme: str) -> None:
        for name, text in files.items():
            path = folder / "leaderboards" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / "README.md").write_text(readme)

    def push(self, message: str, files: dict[str, str], readme: str = "old\n") -> None:
        self.write(self.other, files, readme)
        (
            git(self.other, "add", "."),
            git(self.other, "commit", "-m", message),
            git(self.other, "push", "origin", "HEAD:main"),
        )

    def publish(self) -> int:
        # The script itself comes from the checkout of main; this one stands in for it.
        env = {**os.environ, "BOARD": str(self.board), "GITHUB_SHA": "abc"}
        script = ["bash", str(ROOT / ".github" / "publish.sh")]
        return subprocess.run(script, cwd=self.checkout, env=env, capture_output=True).returncode

    def log(self) -> list[str]:
        return git(self.origin, "log", "--format=%s", "main").splitlines()

    def files(self) -> dict[str, str]:
        names = git(self.origin, "ls-tree", "-r", "--name-only", "main").split()
        return {name.removeprefix("leaderboards/"): git(self.origin, "show", f"main:{name}") for name in names}


def test_publishing_keeps_what_others_pushed_and_runs_no_hook(tmp_path: Path) -> None:
    main = Main(tmp_path)
    main.push("two", {"suites/mine.toml": "version = 2"})
    hook = main.checkout / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch harmed\n")
    hook.chmod(0o755)
    for _ in range(2):  # the second time there is nothing to say
        assert main.publish() == 0
    assert not (main.checkout / "harmed").exists()
    assert main.log() == ["Board: records of abc", "two", "one"]
    records = {"records/a.json": "2", "records/b.json": "1", "records/c.json": "2"}
    board = {"README.md": "new\n", "board.json": "1 2", "boards/main.md": "new", "suites/mine.toml": "version = 2"}
    assert main.files() == {**board, **records}
    # A link would be written through, or would show what it points to.
    (main.board / "leaderboards" / "boards" / "link.md").symlink_to("/etc/hostname")
    assert main.publish() == 1


def test_where_others_published_a_board_records_are_kept_and_the_board_is_theirs(tmp_path: Path) -> None:
    main = Main(tmp_path)
    main.push("two", {"records/b.json": "3", "records/d.json": "3", "board.json": "1 3"}, "theirs\n")
    assert main.publish() == 0
    assert main.log() == ["Records of abc; main went on meanwhile, the board follows", "two", "one"]
    found = main.files()
    assert {name: text for name, text in found.items() if name.startswith("records/")} == {
        "records/a.json": "2",
        "records/b.json": "3",  # not made here: as they have it
        "records/c.json": "2",
        "records/d.json": "3",
    }
    assert (found["board.json"], found["README.md"]) == ("1 3", "theirs\n")


def test_only_records_that_a_job_made_or_changed_are_handed_over(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / ".github" / "actions" / "records" / "action.yml").read_text())
    records = tmp_path / "leaderboards" / "records"
    (records / "utility").mkdir(parents=True)
    git(tmp_path, "init")
    for name in ("kept.json", "changed.json"):
        (records / name).write_text("old")
    git(tmp_path, "add", "."), git(tmp_path, "commit", "-m", "one")

    def hand_over() -> str:
        (tmp_path / "output").write_text("")
        env = {**os.environ, "GITHUB_OUTPUT": str(tmp_path / "output")}
        script = action["runs"]["steps"][0]["run"]
        shutil.rmtree(tmp_path / "made", ignore_errors=True)
        subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=env, check=True)
        return (tmp_path / "output").read_text()

    assert hand_over() == ""
    (records / "changed.json").write_text("new")
    (records / "utility" / "fresh one.json").write_text("new")
    assert hand_over() == "some=true\n"
    made = sorted(str(path.relative_to(tmp_path / "made")) for path in (tmp_path / "made").rglob("*.json"))
    assert made == ["changed.json", "utility/fresh one.json"]


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed: apt-get install jq")
@pytest.mark.parametrize(
    ("status", "worst"),
    [(0, 0), (1, 1), (2, 2), (124, 0), (130, 0), (137, 0)],
)
def test_a_suite_that_fails_does_not_stop_the_others_and_is_not_forgotten(
    tmp_path: Path, status: int, worst: int
) -> None:
    """The run job's own script, with a bench that ends like that."""
    (step,) = (s for s in load("leaderboard.yml")["jobs"]["run"]["steps"] if "SUITES" in s.get("env", {}))
    for name, text in {"one": 'attack = "rss"', "two": "seed = 0"}.items():
        (tmp_path / "leaderboards" / "suites").mkdir(parents=True, exist_ok=True)
        (tmp_path / "leaderboards" / "suites" / f"{name}.toml").write_text(text)
    program = tmp_path / ".venv" / "bin" / "bench"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$@" >> called\nexit {status}\n')
    program.chmod(0o755)
    output = tmp_path / "output"
    env = {**os.environ, "SUITES": '["one","two"]', "GITHUB_OUTPUT": str(output)}
    subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, env=env, check=True)
    first, second = (tmp_path / "called").read_text().splitlines()
    assert first.startswith("run --timeout 14400 --suite one --jobs ")  # as long as texthide-table2 asks for
    assert second.startswith("utility --suite two --jobs ")
    assert output.read_text().splitlines()[-1] == f"worst={worst}"
    assert output.read_text().startswith("began=2")
    *_, last = load("leaderboard.yml")["jobs"]["run"]["steps"]
    for replayed in (0, 1):
        env = {**os.environ, "WORST": str(worst), "REPLAYED": str(replayed)}
        ended = subprocess.run(["bash", "-c", last["run"]], env=env).returncode
        assert ended == max(worst, replayed)
