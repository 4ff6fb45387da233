"""Packages that the project knows nothing of, installed into a fresh environment, stand beside the built-in plugins."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.helpers.cli import PLUGINS, ROOT
from tests.helpers.sandbox import needs_sandbox

PACKAGES = ("examples/centred-search", "examples/gaussian-noise", "hideseek-freshly-made")
SUITE = """
dataset = "kept-demo"
encoder = "toy"
examples = 40
epochs = 1
candidates = 120
coverage = 1.0
split = "train"
defense = ["none", "gaussian-noise:scale=3"]
attack = ["rss", "centred-search", "freshly-made"]
"""


class Elsewhere:
    """An environment with the project's wheel and three foreign packages."""

    def __init__(self, home: Path):
        self.home = home
        self.python = home / "venv" / "bin" / "python"
        self.site = next((home / "venv" / "lib").glob("python*/site-packages"))

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(self.python), *args], cwd=self.home, capture_output=True, text=True, timeout=300)

    def bench(self, *args: str) -> subprocess.CompletedProcess[str]:
        return self("-m", "bench", *args)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, wheel: Path, warm_cache: None) -> Elsewhere:
    home = tmp_path_factory.mktemp("elsewhere")
    venv.create(home / "venv", with_pip=False)
    place = Elsewhere(home)
    # Libraries are borrowed from the environment of the tests: nothing is downloaded.
    (place.site / "borrowed.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
    # Copies: building leaves files behind in the tree.
    shutil.copytree(ROOT / "examples", home / "examples")
    made = subprocess.run(
        [sys.executable, "-m", "bench", "plugin", "new", "freshly-made"], cwd=home, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    packages = [home / name for name in PACKAGES]
    pip = [sys.executable, "-m", "pip", "--python", str(place.python), "install", "--quiet"]
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    command = [*pip, *offline, str(wheel), *map(str, packages)]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code = "import bench, hideseek_gaussian_noise as g; print(bench.__file__, g.__file__)"
    seen = place("-c", code).stdout.split()
    assert all(path.startswith(str(place.site)) for path in seen), "the checkout must not be what is tested"
    return place


@pytest.mark.slow
def test_installed_plugins_are_listed_with_their_summary_and_options(elsewhere: Elsewhere) -> None:
    done = elsewhere.bench("list", "--json")
    assert done.returncode == 0, done.stderr
    found = {row["name"]: row for rows in json.loads(done.stdout).values() for row in rows}
    assert found["gaussian-noise"]["summary"].startswith("Each vector plus Gaussian noise")
    assert found["gaussian-noise"]["options"] == {"scale": "0.1"}
    assert "package hideseek-centred-search" in found["centred-search"]["where"]
    assert {"texthide", "rss", "freshly-made"} <= found.keys()


@pytest.mark.slow
def test_they_run_in_a_suite_and_stand_in_the_tables_beside_the_built_in_ones(elsewhere: Elsewhere) -> None:
    (elsewhere.home / "mine.toml").write_text(SUITE)
    done = elsewhere.bench("run", "--suite", "mine.toml", "--plugin", str(PLUGINS / "toy.py"), "--json")
    assert done.returncode == 0, done.stderr
    records = {(r["defense"]["name"], r["attack"]["name"]): r for r in json.loads(done.stdout)}
    assert len(records) == 6
    noisy = records["gaussian-noise", "centred-search"]
    assert noisy["defense"]["options"] == {"scale": 3.0}
    assert noisy["metrics"]["identity"]["value"] < records["none", "centred-search"]["metrics"]["identity"]["value"]
    assert elsewhere.bench("leaderboard", "--out", "board").returncode == 0
    table = (elsewhere.home / "board" / "boards" / "mine.md").read_text()
    for defense in ("none", "gaussian-noise:scale=3.0"):
        for attack in ("rss", "centred-search", "freshly-made"):
            assert f"| {defense} | {attack} |" in table
    rows = list(csv.DictReader((elsewhere.home / "board" / "boards" / "mine.csv").open()))
    assert {row["status"] for row in rows} == {"ok"}


@pytest.mark.slow
def test_a_package_is_checked_by_its_name(elsewhere: Elsewhere) -> None:
    done = elsewhere.bench("plugin", "check", "hideseek-gaussian-noise")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "### defense gaussian-noise" in done.stdout
    assert "package hideseek-gaussian-noise (hideseek_gaussian_noise:GaussianNoise)" in done.stdout


@pytest.mark.slow
@needs_sandbox
def test_a_package_is_submitted_by_a_line_in_plugins_toml(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole flow of a pull request: what is new, check, sealed run, one cell again, records and tables."""
    repo = elsewhere.home / "repo"
    board = repo / "leaderboards"
    board.mkdir(parents=True)
    (board / "plugins.toml").write_text("[packages]\n")
    (repo / "tiny.toml").write_text(SUITE.replace("gaussian-noise:scale=3", "mix-only"))

    def git(*words: str) -> None:
        who = ("-c", "user.name=me", "-c", "user.email=me@localhost")
        subprocess.run(["git", *who, *words], cwd=repo, check=True, capture_output=True)

    def submit(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(elsewhere.python), "-m", "bench", "submit", "--base", "HEAD", "--suite", "tiny.toml", *words]
        command += ["--plugin", str(PLUGINS / "toy.py")]
        return subprocess.run(command, cwd=repo, capture_output=True, text=True, timeout=600)

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "before")
    nothing = submit("--dry-run")
    assert nothing.returncode == 2
    assert "nothing to submit" in nothing.stderr
    (board / "plugins.toml").write_text('[packages]\nhideseek-centred-search = "9.9"\n')
    absent = submit("--dry-run")
    assert absent.returncode == 2
    assert "hideseek-centred-search==9.9 of plugins.toml is not installed" in absent.stderr
    (board / "plugins.toml").write_text('[packages]\nhideseek-centred-search = "0.1.0"\n')
    tried = submit("--dry-run")
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "✓ deterministic" in tried.stdout
    assert "accepted: 2 records (0 failed)" in tried.stdout
    assert sorted(path.name for path in board.iterdir()) == ["plugins.toml"]
    done = submit()
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(path.read_text()) for path in (board / "records").glob("*.json")]
    assert [record["attack"]["name"] for record in records] == ["centred-search"] * 2
    assert all(record["salt"] and record["tried"]["attempts"] == {} for record in records)
    assert "centred-search" in (board / "boards" / "tiny.md").read_text()
    check = ("leaderboard", "--results", str(board / "records"), "--out", str(board), "--check")
    assert elsewhere.bench(*check).returncode == 0

    # One that is not installed at all comes from its wheel, and into the sandbox only.
    made = elsewhere.bench("plugin", "new", "brought-along")
    assert made.returncode == 0, made.stderr
    source = elsewhere.home / "hideseek-brought-along"
    with (source / "hideseek_brought_along.py").open("a") as file:
        marker = f"pathlib.Path({str(repo / 'ran')!r}).touch()"
        file.write(f"\nimport contextlib\nimport pathlib\nwith contextlib.suppress(OSError):\n    {marker}\n")
    wheels = elsewhere.home / "wheels"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-w", str(wheels), str(source)], check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    line = f'[packages]\nhideseek-brought-along = {{ version = "0.1.0", sha256 = ["{sha256}"] }}\n'
    (board / "plugins.toml").write_text(line)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    brought = submit("--dry-run", "--install")
    assert brought.returncode == 0, brought.stdout + brought.stderr
    assert "### attack brought-along" in brought.stdout
    assert not (repo / "ran").exists()  # nowhere but in the sandbox, where it could not write


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_their_own_tests_pass(elsewhere: Elsewhere, package: str) -> None:
    done = elsewhere("-m", "pytest", "-q", "-p", "no:cacheprovider", f"{package}/tests")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*/*.py")), ids=lambda path: path.stem)
def test_examples_are_read_in_a_minute(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 40


@pytest.mark.slow
def test_one_that_breaks_is_listed_as_broken_and_harms_no_other(elsewhere: Elsewhere) -> None:
    module = elsewhere.site / "hideseek_freshly_made.py"
    whole = module.read_text()
    try:
        for text, said in [
            ("def broken(:", "cannot be read"),
            ("import not_there_xyz\n" + whole, "not installed"),
            (whole + "\nraise RuntimeError('no licence')\n", "raises RuntimeError('no licence')"),
        ]:
            module.write_text(text)
            done = elsewhere.bench("list", "attacks")
            assert done.returncode == 0, done.stderr
            (line,) = (row for row in done.stdout.splitlines() if "freshly-made" in row)
            assert "BROKEN: " in line
            assert said in line
            assert "centred-search" in done.stdout
            refused = elsewhere.bench("run", "--defense", "none", "--attack", "freshly-made")
            assert refused.returncode == 2
            assert "is broken" in refused.stderr
    finally:
        module.write_text(whole)
