"""The tutorials in docs/tutorials do what they say: every command is run, in order, and prints what stands below it.

In blocks called `console`, `$` begins a command and what follows is its output; … stands for anything, alone in a line
for any lines. Times may differ, and a number with a decimal point by 0.05: processors round differently. A block after
`<!-- file: NAME -->` is saved under that name first.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.cli import ROOT

TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n+)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.M | re.S)
DURATION = re.compile(r"\d+(\.\d+)? (s|min)\b")
DECIMAL = re.compile(r"\d+\.\d+")
TOLERANCE = 0.05


@dataclass(frozen=True)
class File:
    name: str
    content: str


@dataclass(frozen=True)
class Command:
    line: str
    printed: list[str]


def parts(page: str) -> Iterator[File | Command]:
    """Files to save and commands to run, from top to bottom."""
    for block in BLOCK.finditer(page):
        if block["file"]:
            yield File(block["file"], block["body"])
        elif block["kind"] == "console":
            assert block["body"].startswith("$ "), block["body"]
            for piece in re.split(r"^\$ ", block["body"], flags=re.M)[1:]:
                line, _, printed = piece.replace("\\\n", " ").partition("\n")
                yield Command(line, printed.splitlines())


def missing(shown: list[str], printed: list[str]) -> str | None:
    """The first line of a page that is not where it should be in what was printed; None if all are."""
    at, anywhere = 0, False
    for line in filter(str.strip, shown):
        if line.strip() == "…":
            anywhere = True
            continue
        reach = range(at, len(printed)) if anywhere else range(at, min(at + 1, len(printed)))
        found = next((i for i in reach if matches(line, printed[i])), None)
        if found is None:
            return line
        at, anywhere = found + 1, False
    return None if anywhere or at == len(printed) else f"nothing, but there is more: {printed[at]!r}"


def matches(shown: str, printed: str) -> bool:
    shown, printed = (DURATION.sub("(time)", " ".join(text.split())) for text in (shown, printed))
    pattern = re.escape(shown).replace("…", ".*")
    pattern = re.sub(r"\d+\\\.\d+", r"(\\d+\\.\\d+)", pattern)
    if not (found := re.fullmatch(pattern, printed)):
        return False
    wanted = map(float, DECIMAL.findall(shown))
    return all(abs(a - float(b)) <= TOLERANCE for a, b in zip(wanted, found.groups(), strict=True))


def run(line: str, folder: Path) -> tuple[int, list[str]]:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1",
           "COLUMNS": "120", "HF_HUB_OFFLINE": "1"}  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=env, text=True, timeout=300,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.returncode, [text for text in done.stdout.splitlines() if text.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.name for path in TUTORIALS.glob("*.md")))
def test_every_command_of_a_tutorial_does_what_it_says(name: str, tmp_path: Path, warm_cache: None) -> None:
    found = list(parts((TUTORIALS / name).read_text(encoding="utf-8")))
    assert sum(isinstance(part, Command) for part in found) > 2
    for part in found:
        if isinstance(part, File):
            (tmp_path / part.name).write_text(part.content, encoding="utf-8")
            continue
        _, printed = run(part.line, tmp_path)
        gone = missing(part.printed, printed)
        assert gone is None, f"$ {part.line}\nshould print: {gone}\nand printed:\n" + "\n".join(printed)


def test_there_is_one_for_each_of_the_three_users() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.md")} == {"own-data", "new-attack", "board"}


@pytest.mark.parametrize(
    ("shown", "printed", "agree"),
    [
        (["a 0.50 in 3 s", "…", "z"], ["a 0.52 in 14 min", "b", "z"], True),
        (["a 0.50"], ["a 0.60"], False),
        (["a", "z"], ["a", "b", "z"], False),
        (["a", "…", "y"], ["a", "b", "z"], False),
        (["a"], ["a", "b"], False),
        (["written: … bytes"], ["written: 17 bytes"], True),
        (["7 rows"], ["8 rows"], False),
    ],
)
def test_what_a_page_shows_is_compared_line_by_line(shown: list[str], printed: list[str], agree: bool) -> None:
    assert (missing(shown, printed) is None) == agree
