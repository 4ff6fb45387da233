"""The unusual layout (datasets/ beside bench/, importable as bench.datasets) works in every mode of installation."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT
from tests.helpers.records import attack_record, write_records


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
    assert {
        "bench/attacks/rss.py",
        "bench/defenses/texthide.py",
        "bench/datasets/demo/__init__.py",
        "bench/py.typed",
    } <= set(names)
    assert {"bench/suites/smoke.toml", "bench/leaderboards/published.toml"} <= set(names)
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "bench").rglob("*.py")} <= set(names)
    plugins = [path for kind in ("attacks", "defenses", "datasets") for path in (ROOT / kind).rglob("*.py")]
    assert {f"bench/{path.relative_to(ROOT).as_posix()}" for path in plugins} <= set(names)
    assert {f"bench/plugins/templates/{kind}.py.txt" for kind in ("attack", "defense", "dataset")} <= set(names)
    site = ROOT / "bench" / "board" / "render" / "templates"
    assert {f"bench/board/render/templates/{path.name}" for path in site.iterdir()} <= set(names)


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


def test_every_file_that_a_run_needs_is_committed_to_the_package_list() -> None:
    text = (ROOT / "setup.cfg").read_text()
    assert "find:" not in text.replace("`find:`", "")
    for package in ("bench.attacks = attacks", "bench.datasets = datasets", "bench.defenses = defenses"):
        assert package in text
