"""Every `bench` command in README and docs is one that the command line takes: options, plugins and suites exist.

They are parsed and their names looked up, not run: most need data or hours. What runs in seconds is run by other tests.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cli.main import parser
from bench.errors import UsageError
from bench.experiment.cells import choose
from bench.experiment.suites import find_suite
from bench.plugins.registry import Registry
from bench.plugins.training import parse
from tests.helpers.cli import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Words that stand for what a reader puts in.
OWN = {"mine", "my-attack", "my-defense"}
KINDS = ("attack", "defense", "dataset", "encoder")


def commands(page: Path) -> Iterator[str]:
    """Lines of fenced blocks that begin with bench, those that go on in the next one joined."""
    for block in re.findall(r"^```(?:bash|sh|console|)\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if re.match(r"(\$ )?bench [a-z]", line) and "bench." not in line:
                yield line.removeprefix("$ ")


FOUND = [(page.relative_to(ROOT).as_posix(), line) for page in PAGES for line in commands(page)]


def test_there_are_commands_to_look_at() -> None:
    assert len(FOUND) > 30


@pytest.mark.parametrize(("page", "line"), FOUND, ids=[f"{page}-{at}" for at, (page, _) in enumerate(FOUND)])
def test_a_documented_command_is_one(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    words = words[: next((at for at, word in enumerate(words) if word in ("|", ">", "&&", ";")), len(words))]
    if any(re.search(r"…|\.\.\.|^\[", word) or word.isupper() for word in words):
        pytest.skip("a form to fill in, not a command")
    assert _mistake(words) is None, f"{page}: {line}"


def _mistake(words: list[str]) -> str | None:
    """What the command line would not take of a command; None if it takes all."""
    try:
        args = parser().parse_args(words)
    except SystemExit:
        return "its options"
    registry = Registry()
    for kind in KINDS:
        given = getattr(args, kind, None) or []
        for name in [given] if isinstance(given, str) else given:
            if name.partition(":")[0] in OWN or "+" in name or "/" in name:
                continue
            try:
                choose(registry, kind, name)
            except UsageError as error:
                return str(error)
    suite = getattr(args, "suite", None)
    if suite and not suite.endswith(".toml"):
        find_suite(suite)
    for training in getattr(args, "training", None) or []:
        parse(training)
    return None


def test_a_mistake_in_a_command_is_seen() -> None:
    assert _mistake(["run", "--defnse", "none"]) == "its options"
    assert "did you mean 'unmix'" in str(_mistake(["run", "--attack", "unmixx", "--defense", "none"]))
