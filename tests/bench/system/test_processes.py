"""Process trees are found and killed whole, and their peak memory is read while they live."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bench.system.processes import descendants, is_alive, kill_all, kill_session, peak_mib, process_tree, uninterrupted
from tests.helpers.processes import heed_ctrl_c

# Starts a child that outlives it if nobody ends it, and says its number.
PARENT = """import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


def gone(pid: int) -> bool:
    for _ in range(100):
        if pid not in process_tree(pid):
            return True
        time.sleep(0.05)
    return False


def test_a_process_is_killed_with_all_that_it_started() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-S", "-c", PARENT], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert process_tree(parent.pid) == sorted([parent.pid, child])
    assert peak_mib([parent.pid, child]) > 1
    kill_session(parent.pid)
    parent.communicate()
    assert gone(child)
    assert process_tree(parent.pid) == []


def test_who_is_alive() -> None:
    assert is_alive(os.getpid())
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    assert not is_alive(ended.pid)
    kill_session(ended.pid)  # nobody there: nothing to do
    assert peak_mib([ended.pid]) == 0


def test_descendants_are_found_without_a_look_at_all_others_and_killed_one_by_one() -> None:
    parent = subprocess.Popen([sys.executable, "-S", "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert descendants(parent.pid, 10) == [parent.pid, child]
    assert descendants(parent.pid, 0) == [parent.pid]
    kill_all(parent.pid, [parent.pid, child])  # it has no session of its own
    parent.communicate()
    assert gone(child)
    assert descendants(parent.pid, 10) == []


def test_a_process_that_ends_while_it_is_looked_at_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc lists it, and then has nothing of it any more: not even the kind of error that a missing file gives."""
    listed, read = os.listdir, Path.read_text

    def listdir(folder: str) -> list[str]:
        return [*listed(folder), "4194999"] if str(folder) == "/proc" else listed(folder)

    def read_text(self: Path, *args: object, **options: object) -> str:
        if "4194999" in str(self):
            raise ProcessLookupError(3, "No such process")
        return read(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "listdir", listdir)
    monkeypatch.setattr(Path, "read_text", read_text)
    assert os.getpid() in process_tree(os.getpid())
    assert os.getpid() in descendants(os.getpid(), 10)


def test_ctrl_c_waits_for_the_end_of_a_block_that_must_not_be_interrupted() -> None:
    done: list[str] = []
    before = signal.getsignal(signal.SIGINT)

    def block() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("inside")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == ["inside"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_that_gets_no_signals_has_nothing_to_hold_back() -> None:
    done: list[str] = []

    def block() -> None:
        with uninterrupted():
            done.append("inside")

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert done == ["inside"]


def test_ctrl_c_while_an_object_is_deleted_is_not_lost() -> None:
    code = """
import os, signal, time
from bench.system.processes import keep_interrupts
class Deleted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
keep_interrupts(), keep_interrupts()
try:
    Deleted()
    time.sleep(5)
except KeyboardInterrupt:
    print("heard")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, preexec_fn=heed_ctrl_c
    )
    assert done.stdout == "heard\n"
    assert done.stderr == ""
