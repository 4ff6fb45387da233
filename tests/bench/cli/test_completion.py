"""The completion scripts, asked as a shell asks them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
source {script}
function=$(complete -p bench | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$function bench "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
echo "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "bash"
    done = subprocess.run([sys.executable, "-m", "bench", "completion", "bash"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout)
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("bench ru", {"run"}),
        ("bench run --cand", {"--candidates"}),
        ("bench run --attack xie", {"xie-hong", "xie-hong-blind", "xie-hong-invert"}),
        ("bench utility --defense text", {"texthide", "texthide-inter"}),
        ("bench run --suite smo", {"smoke"}),
        ("bench plugin check magn", {"magnitude-search"}),
        ("bench list magn", {"magnitude-search"}),
    ],
)
def test_bash_completes(script: Path, tmp_path: Path, words: str, offered: set[str]) -> None:
    # The script calls `bench`, wherever it is installed.
    (tmp_path / "bench").write_text(f'#!/bin/sh\nexec {sys.executable} -m bench "$@"\n')
    (tmp_path / "bench").chmod(0o755)
    asked = f"PATH={tmp_path}:$PATH\n" + ASK.format(script=script, words=words)
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True)
    assert set(done.stdout.split()) == offered, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_scripts_of_their_own(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    from bench.cli.main import main

    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert "bench list attacks --names" in said
    assert "compdef" in said if shell == "zsh" else "complete bench" in said
