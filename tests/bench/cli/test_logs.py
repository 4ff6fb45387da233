"""What the library logs, on the command line and without it."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from bench.cli import logs


def test_a_warning_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    logs.attach()
    logs.attach()
    logging.getLogger("bench.records.store").warning("%s: left out", "a.json")
    logging.getLogger("bench.records.store").info("of no interest")
    assert capsys.readouterr() == ("", "bench: a.json: left out\n")


def test_the_same_warning_is_said_once_in_each_call(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        logs.attach()
        for _ in range(3):
            logging.getLogger("bench.datasets.file").warning("'Yes' and 'yes' are different classes")
    assert capsys.readouterr().err.splitlines() == ["bench: 'Yes' and 'yes' are different classes"] * 2


def test_a_program_that_uses_the_library_hears_nothing_unless_it_asks() -> None:
    code = "import logging, bench; bench.run\nlogging.getLogger('bench.records.store').warning('heard')"
    for setup, heard in (("", ""), ("import logging; logging.basicConfig(format='%(message)s')\n", "heard\n")):
        done = subprocess.run([sys.executable, "-c", setup + code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, heard)
