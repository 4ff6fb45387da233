"""`bench plugin new`: what it writes works as it is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.conformance import checks
from bench.conformance.checks import CheckSettings
from bench.errors import UsageError
from bench.plugins import scaffold
from tests.helpers.cli import ROOT, TINY, load_records

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_shortest_useful_attack_has_at_most_15_lines(tmp_path: Path) -> None:
    (path,) = scaffold.write("mine", "attack", tmp_path, single=True)
    assert path == tmp_path / "mine.py"
    assert len(path.read_text().splitlines()) <= 15
    # What the README shows is what is written.
    assert path.read_text() in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("kind", ["attack", "defense", "dataset"])
@pytest.mark.parametrize("name", ["my-own", "guess"])
def test_a_single_file_of_each_kind_passes_the_check(tmp_path: Path, kind: str, name: str) -> None:
    (path,) = scaffold.write(name, kind, tmp_path, single=True)
    (target,) = checks.targets(str(path))
    report = checks.Report(target.title, tuple(checks.run_checks(target, CheckSettings(defenses=("none",)))))
    assert report.ok, report


def test_new_edit_check_run(bench: Run, tmp_path: Path) -> None:
    done = bench("plugin", "new", "mine", "--single-file")
    assert done.returncode == 0, done.stderr
    check, run = done.stdout.strip().splitlines()[-2:]
    path = tmp_path / "home" / "mine.py"
    path.write_text(path.read_text().replace("view.encodings, self.top)", "-view.encodings, self.top)"))
    done = bench(*check.split()[1:], "--defense", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    done = bench(*run.split()[1:], *TINY)
    assert done.returncode == 0, done.stderr
    (record,) = load_records(tmp_path / "home" / "results").values()
    assert record["attack"]["name"] == "mine"
    # It was told to look in the wrong direction.
    assert record["metrics"]["identity"]["value"] < 0.2


def test_a_package_holds_the_plugin_its_test_and_how_to_go_on(bench: Run, tmp_path: Path) -> None:
    done = bench("plugin", "new", "my-shield", "--kind", "defense", "--out", "sub")
    assert done.returncode == 0, done.stderr
    home = tmp_path / "home" / "sub" / "hideseek-my-shield"
    assert {str(p.relative_to(home)) for p in home.rglob("*") if p.is_file()} == {
        "pyproject.toml",
        "hideseek_my_shield.py",
        "tests/test_hideseek_my_shield.py",
        "README.md",
    }
    assert 'my-shield = "hideseek_my_shield:MyShield"' in (home / "pyproject.toml").read_text()
    for path in home.rglob("*"):
        assert path.is_dir() or "{name}" not in path.read_text()
    assert "bench plugin check my-shield" in (home / "README.md").read_text()
    assert "pip install -e ./sub/hideseek-my-shield" in done.stdout


@pytest.mark.parametrize("single", [True, False])
def test_nothing_is_overwritten(tmp_path: Path, single: bool) -> None:
    first = scaffold.write("mine", "attack", tmp_path, single=single)
    first[0].write_text("precious")
    with pytest.raises(UsageError, match="is there already"):
        scaffold.write("mine", "attack", tmp_path, single=single)
    assert first[0].read_text() == "precious"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["My Attack"], "use small letters, digits and single hyphens, as in my-attack"),
        (["../evil"], "cannot be a name"),
        (["-"], "cannot be a name"),
        (["rss"], "there is an attack 'rss' already"),
        (["texthide", "--kind", "defense"], "there is a defense 'texthide' already"),
        (["x", "--kind", "encoder"], "invalid choice"),
    ],
)
def test_a_name_that_will_not_do_is_explained(bench: Run, tmp_path: Path, args: list[str], said: str) -> None:
    done = bench("plugin", "new", *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list((tmp_path / "home").iterdir())


def test_a_folder_that_cannot_be_written_is_one_line(bench: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "file").write_text("")
    done = bench("plugin", "new", "mine", "--out", "file")
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
