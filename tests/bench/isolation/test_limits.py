"""Limits of a process, set in a process of its own: they stay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from bench.isolation import limits
from tests.helpers.cli import ROOT

CODE = """
import ctypes, json, os, resource, sys
sys.path.insert(0, sys.argv[1])
from bench.isolation import limits
limits.restrict(int(sys.argv[2]), sealed=sys.argv[3] == "sealed")
libc = ctypes.CDLL(None, use_errno=True)
def tried(call):
    try:
        return call() is not None
    except (OSError, ValueError, MemoryError) as error:
        return type(error).__name__ + str(getattr(error, "errno", ""))
def shmget():
    if libc.shmget(0, ctypes.c_size_t(4096), 0o1600) < 0:
        raise OSError(ctypes.get_errno(), "")
    return 1
print(json.dumps({
    "limits": {n: resource.getrlimit(getattr(resource, "RLIMIT_" + n))[1] for n in ("DATA", "CORE", "FSIZE", "NOFILE")},
    "memfd": tried(lambda: os.memfd_create("x")),
    "shmget": tried(shmget),
    "private": tried(lambda: bytearray(700 << 20)),
    "raised": tried(lambda: resource.setrlimit(resource.RLIMIT_DATA, (-1, -1)) or 1) if os.geteuid() else "ValueError",
    "works": tried(lambda: open("/proc/self/status").read()),
}))
"""


def restricted(memory_mib: int, how: str) -> dict[str, Any]:
    command = [sys.executable, "-c", CODE, str(ROOT), str(memory_mib), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_sealed_process_is_limited_for_good() -> None:
    found = restricted(600, "sealed")
    most = {"DATA": 600 << 20, "CORE": 0, "FSIZE": limits.SCRATCH_BYTES, "NOFILE": limits.OPEN_FILES}
    assert found["limits"] == most
    assert found["private"] == "MemoryError"
    assert found["raised"] == "ValueError"
    assert found["works"] is True
    if os.uname().machine in ("x86_64", "aarch64"):
        assert (found["memfd"], found["shmget"]) == ("OSError38", "OSError38")


def test_an_unsealed_one_has_its_memory_limited_and_nothing_else() -> None:
    found = restricted(600, "open")
    assert found["limits"]["DATA"] == 600 << 20
    assert found["limits"]["NOFILE"] != limits.OPEN_FILES
    assert (found["memfd"], found["private"]) == (True, "MemoryError")


def test_other_processors_have_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        machine = "riscv64"

    monkeypatch.setattr(os, "uname", Other)
    assert limits.refuse_calls() is False
