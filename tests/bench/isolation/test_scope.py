"""Control groups by way of systemd, which is played by a script that writes down how it was called."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.isolation import scope
from bench.isolation.sandbox import OUTSIDE
from tests.helpers.cli import PLUGINS
from tests.helpers.sandbox import needs_sandbox
from tests.helpers.wall import sealed

# Options end at "--"; then it becomes the command, as systemd-run --scope does.
FAKE = """#!/bin/sh
echo "$@" >> {log}
while [ "$1" != "--" ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "systemd-run").write_text(FAKE.format(log=tmp_path / "log"))
    (tools / "systemd-run").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/SECRET-1")
    scope.is_offered.cache_clear()
    yield tmp_path / "log"
    scope.is_offered.cache_clear()


@needs_sandbox
def test_a_sealed_attack_has_a_scope_of_its_own_and_is_told_nothing_of_it(log: Path) -> None:
    found = sealed(PLUGINS / "breakers.py", "reads-environments", "ReadsEnvironments", memory=1000)
    trial, asked = log.read_text().splitlines()
    assert "MemoryMax=1G" in trial
    assert "-p MemoryMax=1178M -- " in asked
    assert "--scope" in asked
    assert ("--user" in asked) == (os.geteuid() != 0)
    assert found.details["found"] == []
    assert {word.partition("=")[0] for word in found.details["first"]} - {""} == set(OUTSIDE)


def test_without_a_limit_there_is_none(log: Path) -> None:
    command, _ = scope.around(["true"], 0)
    assert "MemoryMax" not in " ".join(command)


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\nsleep 60\n", "not a program"])
def test_where_systemd_gives_none_the_watchdog_is_alone(
    script: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "SECONDS", 0.2)
    (log.parent / "bin" / "systemd-run").write_text(script)
    assert scope.around(["true"], 1000) == (["true"], OUTSIDE)
    assert subprocess.run(["true"], env=OUTSIDE).returncode == 0
