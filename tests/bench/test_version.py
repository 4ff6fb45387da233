"""The version stands in one place, and every other place agrees."""

from __future__ import annotations

import subprocess
import sys

import yaml

import bench
from tests.helpers.cli import ROOT


def test_the_command_line_says_it_without_being_installed() -> None:
    code = "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]\n"
    code += "sys.path.insert(0, '.')\nfrom bench.cli.main import main\nmain(['--version'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == f"hideseek {bench.__version__}", done.stderr


def test_packaging_and_citation_agree() -> None:
    assert "version = attr: bench.__version__" in (ROOT / "setup.cfg").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == bench.__version__
    assert {"cff-version", "message", "title", "authors", "type", "license"} <= citation.keys()
