"""What the audit hook writes down, and what it lets pass. A hook stays for good, so here it is caught and called."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.isolation import audit
from tests.helpers.cli import ROOT

Hook = Callable[[str, tuple[Any, ...]], None]


@pytest.fixture
def places() -> Iterator[tuple[Path, Path, Path]]:
    """Folders to read, to write, and neither; of short names, since long ones are shortened in a record."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        found = home / "view", home / "scratch", home / "viewer"
        for folder in found:
            folder.mkdir()
            (folder / "file").write_text("")
        yield found


@pytest.fixture
def watched(places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> tuple[Hook, dict[str, int]]:
    hooks: list[Hook] = []
    monkeypatch.setattr(sys, "addaudithook", hooks.append)
    tried = audit.watch([str(places[0])], [str(places[1])])
    return hooks[0], tried


def test_what_an_attack_may_do_is_not_written_down(
    watched: tuple[Hook, dict[str, int]], places: tuple[Path, Path, Path]
) -> None:
    heard, tried = watched
    view, scratch, _ = places
    heard("open", (str(view / "file"), "r", os.O_RDONLY))
    heard("open", (str(scratch / "new"), "w", os.O_WRONLY | os.O_CREAT))
    heard("os.mkdir", (str(scratch / "folder"), 0o777, -1))
    heard("os.listdir", (str(view),))
    heard("open", (os.__file__, "r", os.O_RDONLY))  # the standard library
    heard("open", (3, "w", os.O_WRONLY))  # a file that is already open
    heard("os.listdir", (None,))
    heard("import", ("bench.toolkit.search", None, None, None, None))
    heard("os.kill", (os.getpid(), 0))
    heard("compile", (None, "<string>"))
    assert tried == {}


def test_files_outside_are_written_down_by_what_was_tried(
    watched: tuple[Hook, dict[str, int]], places: tuple[Path, Path, Path]
) -> None:
    heard, tried = watched
    view, _, outside = places  # `viewer` begins as `view` does, and is another folder all the same
    heard("open", (str(outside / "file"), "r", os.O_RDONLY))
    heard("open", (os.fsencode(outside / "file"), "rb", os.O_RDONLY))
    heard("os.scandir", (str(outside),))
    heard("open", (str(view / "file"), "a", 0))
    heard("open", (str(view / "low"), None, os.O_RDWR))
    heard("os.remove", (str(view / "gone"), -1))
    assert tried == {
        f"looked for {outside / 'file'}": 2,
        f"looked for {outside}": 1,
        f"tried to write {view / 'file'}": 1,
        f"tried to write {view / 'low'}": 1,
        f"tried to write {view / 'gone'}": 1,
    }


def test_every_path_of_an_event_counts(watched: tuple[Hook, dict[str, int]], places: tuple[Path, Path, Path]) -> None:
    """A file that is moved out of the scratch folder is written elsewhere."""
    heard, tried = watched
    _, scratch, outside = places
    mine = str(scratch / "file")
    heard("os.rename", (mine, str(scratch / "new"), -1, -1))
    heard("os.symlink", (str(outside), str(scratch / "link"), -1))
    assert tried == {}
    heard("os.rename", (mine, str(outside / "a"), -1, -1))
    heard("os.link", (mine, str(outside / "b"), -1, -1))
    heard("os.link", (str(outside / "file"), str(scratch / "c"), -1, -1))
    heard("os.symlink", (mine, str(outside / "d"), -1))
    heard("shutil.move", (mine, str(outside / "e")))
    heard("shutil.copyfile", (mine, Path(outside / "f")))
    heard("shutil.copyfile", (str(outside / "file"), mine))
    heard("os.chmod", (str(outside / "g"), 0o777, -1))
    folder = os.open(outside, os.O_RDONLY)
    heard("os.rename", (mine, "h", -1, folder))
    os.close(folder)
    assert tried == {
        **{f"tried to write {outside / name}": 1 for name in "abdefgh"},
        f"looked for {outside / 'file'}": 2,
    }


def test_a_link_and_dots_do_not_hide_where_a_path_leads(
    watched: tuple[Hook, dict[str, int]], places: tuple[Path, Path, Path]
) -> None:
    heard, tried = watched
    view, scratch, outside = places
    (scratch / "link").symlink_to(outside)
    heard("open", (str(scratch / "link" / "file"), "r", os.O_RDONLY))
    heard("open", (f"{view}/../viewer/file", "r", os.O_RDONLY))
    assert tried == {f"looked for {outside / 'file'}": 2}


@pytest.mark.parametrize(
    ("event", "args", "said"),
    [
        ("gc.get_objects", (-1,), "walked the heap"),
        ("gc.get_referrers", ((),), "walked the heap"),
        ("socket.connect", (None, ("example.org", 80)), "used a socket"),
        ("socket.getaddrinfo", ("example.org", 80, 0, 0, 0), "used a socket"),
        ("import", ("bench.datasets.cola", None, None, None, None), "looked for bench.datasets.cola"),
        ("os.kill", (1, 9), "sent a signal to another process"),
        ("os.listdir", ("/proc",), "looked at other processes"),
        ("open", ("/proc/1/mem", "rb", os.O_RDONLY), "looked at other processes"),
        ("open", ("/proc/1/mem", "wb", os.O_WRONLY), "looked at other processes"),
    ],
)
def test_each_attempt_has_its_words(
    watched: tuple[Hook, dict[str, int]], event: str, args: tuple[Any, ...], said: str
) -> None:
    heard, tried = watched
    heard(event, args)
    heard(event, args)
    assert tried == {said: 2}


def test_the_own_process_is_no_other(watched: tuple[Hook, dict[str, int]]) -> None:
    heard, tried = watched
    heard("open", ("/proc/self/status", "r", os.O_RDONLY))
    assert "looked at other processes" not in tried


def test_an_attack_cannot_fill_the_record(watched: tuple[Hook, dict[str, int]]) -> None:
    heard, tried = watched
    for i in range(3 * audit.MOST):
        heard("open", (f"/nowhere/{i}", "r", os.O_RDONLY))
    heard("open", ("/nowhere/0", "r", os.O_RDONLY))  # those that are known are still counted
    assert len(tried) == audit.MOST
    assert tried["looked for /nowhere/0"] == 2


def test_long_paths_are_cut_at_the_front(watched: tuple[Hook, dict[str, int]]) -> None:
    heard, tried = watched
    heard("open", (f"/nowhere/{'x' * 200}/end", "r", os.O_RDONLY))
    (said,) = tried
    assert said.startswith("looked for …x")
    assert said.endswith("x/end")
    assert len(said) == len("looked for ") + 80


def test_a_real_process_is_watched(tmp_path: Path) -> None:
    code = f"""
import gc, sys
sys.path.insert(0, {str(ROOT)!r})
from bench.isolation.audit import watch
tried = watch([], [])
try:
    open({str(tmp_path / "secret")!r})
except FileNotFoundError:
    pass
gc.get_objects()
print(tried)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str({f"looked for {tmp_path / 'secret'}": 1, "walked the heap": 1})
