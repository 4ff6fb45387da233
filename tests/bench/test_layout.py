"""The unusual layout (datasets/ beside bench/, importable as bench.datasets) works in every mode of installation."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT
from tests.helpers.records import attack_record, write_records

PLUGINS = ("attacks", "defenses", "datasets")


def python(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True)


def test_from_the_root_both_our_datasets_and_hugging_faces_can_be_imported() -> None:
    assert "demo" in python("-m", "bench", "list", cwd=ROOT).stdout
    code = "import runpy, sys\nsys.argv = ['bench', 'list']\ntry: runpy.run_module('bench', run_name='__main__')\n"
    code += "except SystemExit: pass\nimport sentence_transformers, bench.datasets.glue\nprint('both')"
    done = python("-c", code, cwd=ROOT)
    assert done.stdout.endswith("both\n"), done.stderr


@pytest.mark.parametrize("folder", ["attacks", "defenses", "datasets", "leaderboards", "tests", "examples"])
def test_plugin_folders_are_not_packages(folder: str) -> None:
    assert not (ROOT / folder / "__init__.py").exists()


def test_a_wheel_holds_bench_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"bench"}
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "bench").rglob("*.py")} <= set(names)
    plugins = [path for kind in PLUGINS for path in (ROOT / kind).rglob("*.py")]
    assert {f"bench/{path.relative_to(ROOT).as_posix()}" for path in plugins} <= set(names)


def test_a_wheel_holds_every_data_file_of_the_framework(wheel: Path) -> None:
    """Templates, suites, the papers' numbers, the ledger: whatever git tracks in bench/, or a command reads."""
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", "bench"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(tracked.stdout.split()) <= names
    assert {f"bench/suites/{path.name}" for path in (ROOT / "leaderboards" / "suites").glob("*.toml")} <= names
    tables = {path.name for path in (ROOT / "leaderboards").glob("*.toml")} - {"plugins.toml"}
    assert "published.toml" in tables
    assert {f"bench/leaderboards/{name}" for name in tables} <= names


def test_setup_cfg_lists_every_package_of_the_tree() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    listed = config["options"]["packages"].split()
    in_bench = {path.parent.relative_to(ROOT) for path in (ROOT / "bench").rglob("__init__.py")}
    in_plugins = {Path("bench", path.parent.relative_to(ROOT)) for kind in PLUGINS for path in packages_of(kind)}
    wanted = {".".join(path.parts) for path in in_bench | in_plugins}
    wanted |= {f"bench.{kind}" for kind in PLUGINS} | {
        "bench.docs",
        "bench.docs.attacks",
        "bench.docs.tutorials",
        "bench.leaderboards",
        "bench.suites",
    }
    assert sorted(listed) == sorted(wanted)


def packages_of(kind: str) -> list[Path]:
    return list((ROOT / kind).rglob("__init__.py"))


def test_the_installed_wheel_runs_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    (tmp_path / "elsewhere").mkdir()
    # -I would drop PYTHONPATH; what must not be seen is the checkout, which an editable install would show.
    code = (
        "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)];"
        f"sys.path.insert(0, {str(site)!r}); import bench; assert bench.__file__.startswith({str(site)!r});"
        "from bench.cli.main import main; main(['leaderboard', '--out', 'board']); sys.exit(main(['list']))"
    )
    write_records(tmp_path / "elsewhere" / "results", attack_record("texthide", suites={"texthide-table3": 1}))
    done = python("-c", code, cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("rss", "texthide", "demo", "smoke"))
    assert "TextHide table 3a" in (tmp_path / "elsewhere" / "board" / "boards" / "texthide-table3.md").read_text()
