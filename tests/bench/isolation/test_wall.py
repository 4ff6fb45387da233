"""Hostile plugins, sealed: none finds anything that is not its own, every limit binds, and the parent lives on."""

from __future__ import annotations

import ctypes
import os
import resource
import secrets
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.isolation import dialogue, limits, process, sandbox, watchdog
from bench.isolation.limits import PROCESSES
from tests.helpers.cli import PLUGINS
from tests.helpers.sandbox import needs_sandbox
from tests.helpers.wall import Attempt, sealed

BREAKERS = PLUGINS / "breakers.py"
MEMORY = 1000
pytestmark = needs_sandbox


def attempt(name: str, **settings: Any) -> Attempt:
    cls = "".join(word.capitalize() for word in name.split("-"))
    return sealed(BREAKERS, name, cls, **settings)


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    """A secret of this process: in its environment and in its memory."""
    secret = f"SECRET-{secrets.token_hex(16)}"
    monkeypatch.setenv("A_TOKEN", secret)
    return secret


@pytest.fixture
def neighbour(token: str, tmp_path: Path) -> Iterator[Path]:
    """The view of another cell, and results with salts."""
    (tmp_path / "record.json").write_text(token)
    with process.workspace() as folder:
        (folder / "task.json").write_text(token)
        yield folder


# What each is after.


@pytest.mark.parametrize("name", ["reads-environments", "reads-memory", "reads-descriptors", "looks-for-salts"])
def test_nothing_of_the_parent_is_found_in_any_process(name: str, token: str, neighbour: Path) -> None:
    found = attempt(name)
    assert found.details["found"] == []
    assert token not in found.told
    assert set(found.outcome.attempts) & {"looked at other processes", "walked the heap"}


def test_the_sandbox_is_told_two_things_of_the_world(token: str) -> None:
    found = attempt("reads-environments").details
    assert {word.partition("=")[0] for word in found["first"]} - {""} == set(sandbox.OUTSIDE)
    assert not {"A_TOKEN", "BENCH_DATA_DIR", "PYTHONPATH"} & set(found["env"])


def test_nothing_of_other_cells_or_of_results_is_found_on_the_disk(token: str, neighbour: Path, tmp_path: Path) -> None:
    found = attempt("reads-everything", options={"places": f"{neighbour};{tmp_path};/tmp;/dev/shm"})
    assert found.details["found"] == []
    assert token not in found.told


def test_nobody_answers_a_call(token: str) -> None:
    libc = ctypes.CDLL(None)
    key = 0x5EC2E7
    segment = libc.shmget(key, ctypes.c_size_t(4096), 0o1666)
    name = f"hideseek-{secrets.token_hex(8)}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(f"\0{name}")
        unix.listen()
        for server in (tcp, unix):
            threading.Thread(target=_serve, args=(server, token.encode()), daemon=True).start()
        found = attempt("calls-home", options={"port": tcp.getsockname()[1], "name": name, "key": key})
    libc.shmctl(segment, 0, None)
    assert found.details["found"] == []
    assert token not in found.told
    assert "used a socket" in found.outcome.attempts


def _serve(server: socket.socket, token: bytes) -> None:
    try:
        caller, _ = server.accept()
        caller.sendall(token)
    except OSError:
        return


def test_nothing_is_left_for_the_next_cell() -> None:
    for _ in range(2):
        assert attempt("leaves-something").details["found"] == []


def test_a_file_that_is_moved_out_is_noted_and_does_not_arrive() -> None:
    found = attempt("moves-out", options={"place": "/usr"})
    assert sorted(found.outcome.attempts) == ["tried to write /usr/linked", "tried to write /usr/planted"]
    assert not Path("/usr/planted").exists()


def test_limits_are_set_before_any_code_of_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = attempt("starts-early", memory=MEMORY).details
    assert found["limits"] == {"DATA": MEMORY << 20, "CORE": 0, "NPROC": _at_most(PROCESSES)}
    # A package that would have Python import its own module first.
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.ran_first = True")
    (tmp_path / "usercustomize.py").write_text("import builtins; builtins.ran_first = True")
    (tmp_path / "hideseek_early.py").write_text(BREAKERS.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    inside = sealed(
        tmp_path / "hideseek_early.py", "starts-early", "StartsEarly", module="hideseek_early", memory=MEMORY
    )
    assert inside.details["limits"]["DATA"] == MEMORY << 20
    assert not inside.details["startup"]


def _at_most(limit: int) -> int:
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    return limit if most == resource.RLIM_INFINITY else min(limit, most)


# How much each takes. The figures are MiB of MEMORY, in steps of 8, 64 or 100; it takes 50 to import NumPy.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("hoards-private", 8),
        ("hoards-shared", 8),
        ("hoards-unseen", 64),
        ("hoards-in-files", 8),
        ("hoards-in-children", 100),
    ],
)
def test_memory_is_limited_wherever_it_is_taken(name: str, step: int) -> None:
    reached = []
    for _ in range(3):  # on a busy machine a look of the watchdog may come late
        found = attempt(name, memory=MEMORY, timeout=60)
        assert found.outcome.status == "failed"
        assert f"more than its memory limit of {MEMORY} MiB" in str(found.outcome.reason)
        reached.append(found.reached)
        if found.reached <= 1.1 * MEMORY + step:
            return
    pytest.fail(f"it got to {reached} MiB")


def test_files_in_memory_are_limited_by_their_size_however_late_the_watchdog_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watchdog, "HASTE_S", 3)
    monkeypatch.setattr(watchdog, "PAUSE_S", 3)
    monkeypatch.setattr(watchdog, "REST_S", 3)
    found = attempt("hoards-in-files", memory=MEMORY, timeout=60)
    assert f"more than its memory limit of {MEMORY} MiB" in str(found.outcome.reason)
    assert found.reached <= MEMORY + (limits.SHARED_BYTES >> 20)


def test_memory_that_shows_in_no_process_cannot_be_had() -> None:
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("no filter of system calls for this processor")
    assert attempt("hoards-nameless").details["found"] == []


def test_what_forked_processes_share_counts_once() -> None:
    assert attempt("shares-with-children", memory=900).outcome.status == "ok"


@pytest.mark.slow
def test_processes_are_limited_for_root_too() -> None:
    found = attempt("forks-on", timeout=60)
    if found.outcome.guess is None:
        assert f"it started more than {PROCESSES} processes" in str(found.outcome.reason)
        assert found.reached <= 1.1 * PROCESSES
    else:
        assert found.details["started"] <= PROCESSES


@pytest.mark.slow
def test_files_are_limited() -> None:
    found = attempt("makes-files", timeout=60)
    assert "it made more than 100000 files" in str(found.outcome.reason)
    assert found.reached <= 1.1 * watchdog.FILES


@pytest.mark.parametrize("name", ["will-not-end", "announces-much", "floods-stages", "asks-and-never-reads"])
def test_the_deadline_holds(name: str) -> None:
    sees = ("encodings", "corpus", "oracle")
    found = attempt(name, sees=sees, timeout=2, oracle=lambda vectors: np.repeat(vectors, 8, axis=0))
    assert found.outcome.status == "timeout", found.outcome.reason
    assert found.seconds < 4
    assert all(text.isprintable() and len(text) <= 200 for text in found.stages)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sends-many-dimensions", "is not a message's"),
        ("sends-many-values", "values are not taken"),
        ("asks-past-the-limit", "above the limit of 16,777,216"),
        ("says-much", "RuntimeError: "),
    ],
)
def test_a_message_costs_the_parent_little(name: str, said: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = attempt(name, sees=("encodings", "corpus", "oracle"), oracle=lambda vectors: vectors)
    assert found.outcome.status == "failed"
    assert said in str(found.outcome.reason)
    assert found.seconds < 5
    assert str(found.outcome.reason).isprintable()
    assert len(str(found.outcome.reason)) <= dialogue.REASON_LIMIT
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rows": 1 << 17, "width": 256}, "at most 16,777,216 are taken"),
        ({"rows": 1, "width": 1 << 15}, "at most 16384 dimensions"),
    ],
)
def test_a_question_to_the_oracle_is_bounded(options: dict[str, int], said: str) -> None:
    asked: list[Any] = []
    found = attempt("asks-much", options=options, sees=("encodings", "corpus", "oracle"), oracle=asked.append)
    assert said in found.details["refused"]
    assert asked == []
