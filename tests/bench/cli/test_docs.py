"""The docs: read offline by `bench docs`, and built as a site in which no link is broken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import EXPORTS
from bench.plugins.registry import Registry
from tests.helpers.cli import ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_pages_are_listed_with_their_titles(bench: Run) -> None:
    done = bench("docs", "--list")
    assert done.returncode == 0
    names = {line.split()[0] for line in done.stdout.splitlines() if line}
    assert {"report", "reading-a-board", "attacks/unmix"} <= names
    assert "A report on your own data" in done.stdout


@pytest.mark.parametrize("name", ["report", "report.md", "docs/report.md", "attacks/unmix"])
def test_a_page_is_printed(bench: Run, name: str) -> None:
    file = ROOT / "docs" / f"{name.removeprefix('docs/').removesuffix('.md')}.md"
    assert bench("docs", name).stdout == file.read_text()


def test_a_wrong_page_is_answered_with_the_closest(bench: Run) -> None:
    done = bench("docs", "reprt")
    assert done.returncode == 2
    assert "did you mean 'report'?" in done.stderr


def build(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--config-file", str(config), "--site-dir", str(out)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=env)


def test_the_site_has_every_page_and_every_plugin_and_no_broken_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'hideseek[test]'")
    done = build(ROOT / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    for path in (ROOT / "docs").rglob("*.md"):
        assert (tmp_path / "site" / path.relative_to(ROOT / "docs").with_suffix(".html")).is_file()
    for kind in ("attack", "defense"):
        page = (tmp_path / "site" / "reference" / f"{kind}s.html").read_text()
        assert all(f'id="{entry.name}"' in page for entry in Registry().of(kind).values() if entry.built_in)
    page = (tmp_path / "site" / "reference" / "api.html").read_text()
    assert all(f'id="{name}"' in page for name in EXPORTS)
    # What the code says, and how it is called.
    assert "Run every defense against every attack, and score them" in page
    words = " ".join(re.sub(r"<[^>]+>", "", page).split())
    assert "bench.run( *, defense: Names = None," in words
    assert "-&gt; Results[AttackRecord]" in words
    assert "/site-packages/" not in page
    assert str(ROOT) not in page
    assert "https://fonts" not in (tmp_path / "site" / "index.html").read_text()


def test_a_broken_link_stops_the_site(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install 'hideseek[test]'")
    for path in ROOT.iterdir():
        if path.name in ("docs", "README.md"):
            (shutil.copytree if path.is_dir() else shutil.copyfile)(path, tmp_path / path.name)
        elif path.name not in (".git", "build", "pages"):
            (tmp_path / path.name).symlink_to(path)
    broken = {
        "docs/report.md": "no-such-page.md",
        "docs/attacks/unmix.md": "../../no-such-file.py",
        "README.md": "no-such-folder/",
    }
    for page, link in broken.items():
        with (tmp_path / page).open("a") as text:
            text.write(f"\n[gone]({link})\n")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    warnings = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    assert len(warnings) == len(broken)  # nothing else is wrong
    assert all(any(link.replace("../", "") in line for line in warnings) for link in broken.values())
