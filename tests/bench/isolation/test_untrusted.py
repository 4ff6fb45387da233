"""What a plugin may declare of itself, and how others are refused. The answer of the sandbox is made up."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.errors import UsageError
from bench.isolation import sandbox, untrusted
from bench.plugins.decorators import info
from bench.plugins.protocol import Protocol
from bench.plugins.registry import Registry

PLUGIN = """
from dataclasses import dataclass
from bench import Guess, attack

print("printed while it was imported")
{more}

@attack("mine", sees={{"corpus", "encodings"}}, paper="Somebody 2020")
@dataclass(frozen=True)
class Mine:
    top: int = 3
    parts: tuple[int, ...] = (1, 2)

    def run(self, view, rng):
        return Guess()
"""
VALID: dict[str, Any] = {
    "sees": ["encodings", "corpus"],
    "on": ["text"],
    "paper": "Somebody 2020",
    "protocol": {"examples": 50},
    "options": {"top": 5, "parts": [1, 2]},
    "defaults": {"top": 3, "parts": [1, 2]},
}


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN.format(more="1 / 0  # must not be imported here"))
    return Registry((str(file),))


@pytest.fixture
def load(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin, if this is what was printed in the sandbox."""

    def call(said: str, status: int | None = 0) -> Any:
        monkeypatch.setattr(sandbox, "command", lambda folder, needed, environment, inner, memory: inner)
        monkeypatch.setattr(untrusted, "run_logged", lambda command, log, seconds: (status, said))
        return untrusted.load_declaration(registry, "attack", "mine:top=5")

    return call


def test_a_placeholder_has_the_name_options_and_declaration(load: Any) -> None:
    made = load(f"rubbish\n{json.dumps(VALID)}\n")
    said = info(made)
    assert (said.kind, said.name, said.paper) == ("attack", "mine", "Somebody 2020")
    assert said.sees == ("corpus", "encodings")
    assert said.on == ("text",)
    assert said.protocol == Protocol(examples=50)
    assert type(made).__name__ == "Mine"
    assert dataclasses.asdict(made) == {"top": 5, "parts": (1, 2)}
    assert {field.name: field.default for field in dataclasses.fields(made)} == {"top": 3, "parts": (1, 2)}
    assert not hasattr(made, "run")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.top = 6


def test_only_known_words_and_a_short_paper_are_taken(load: Any) -> None:
    made = load(json.dumps(VALID | {"sees": ["key", "corpus"], "on": ["sound", "images"], "paper": "x" * 999}))
    assert info(made).sees == ("corpus",)
    assert info(made).on == ("images",)
    assert info(made).paper == "x" * 300


@pytest.mark.parametrize("value", [None, True, 7, 0.5, "word", "x" * 2000, [], [[1, "a"], None]])
def test_options_hold_plain_values(load: Any, value: Any) -> None:
    made = load(json.dumps(VALID | {"options": {"top": value}}))
    assert json.loads(json.dumps(made.top)) == value
    assert not isinstance(made.top, list)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"options": {"top": {"a": 1}}}, "an option holds a dict"),
        ({"options": {"top": [[{"a": 1}]]}}, "an option holds a dict"),
        ({"options": {"top": "x" * 2001}}, "too long, or breaks lines"),
        ({"options": {"top": "two\nlines"}}, "too long, or breaks lines"),
        ({"options": {"top": "\x1b[2J"}}, "too long, or breaks lines"),
        ({"options": {"__class__": 1}}, "'__class__' is no name for an option"),
        ({"options": {"a b\n": 1}}, "is no name for an option"),
        ({"options": {"class": 1}}, "keyword"),
        ({"options": [1]}, "items"),
        ({"defaults": {"top": {}}}, "an option holds a dict"),
        ({"defaults": None}, "get"),
        ({"protocol": {"examples": 1}}, "at least 2 private examples"),
        ({"protocol": {"secrets": 1}}, "secrets"),
        ({"protocol": {"examples": "many"}}, "examples is not a whole number"),
        ({"protocol": {"examples": float("nan")}}, "examples is not a whole number"),
        ({"protocol": {"examples": 50.5}}, "examples is not a whole number"),
        ({"protocol": {"examples": True}}, "examples is not a whole number"),
        ({"protocol": {"examples": None}}, "examples is not a whole number"),
        ({"protocol": {"epochs": float("inf")}}, "epochs is not a whole number"),
        ({"protocol": {"epochs": 10**9}}, "more than 200,000 items"),
        ({"protocol": {"candidates": float("nan")}}, "candidates is not a whole number"),
        ({"protocol": {"coverage": float("nan")}}, "between 0 and 1"),
        ({"protocol": {"coverage": "all"}}, "coverage is not a number"),
        ({"options": {"\u017felf": 1}}, "is no name for an option"),
        ({"options": {f"a{i}": 1 for i in range(40_000)}}, "40,000 options; at most 64"),
        ({"options": {"x" * 41: 1}}, "is no name for an option"),
        ({"protocol": {"split": "a\nb"}}, "--split a b"),
        ({"protocol": 3}, "mapping"),
        ({"sees": 3}, "int"),
    ],
)
def test_a_declaration_with_anything_else_is_refused_in_one_line(load: Any, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        load(json.dumps(VALID | changed))
    message = str(error.value)
    assert message.startswith("attack 'mine' gives no valid declaration: ")
    assert said in message
    assert message.isprintable()


@pytest.mark.parametrize("name", sorted(VALID))
def test_nothing_may_be_missing(load: Any, name: str) -> None:
    with pytest.raises(UsageError, match=f"no valid declaration: '{name}'"):
        load(json.dumps({key: value for key, value in VALID.items() if key != name}))


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "no valid declaration: no output"),
        ("Traceback\nKilled \x1b[2J", "no valid declaration: Killed  [2J"),
        ("7", "no valid declaration: 7"),
        ("[1]", "no valid declaration: [1]"),
        ("[" * 100_000, "no valid declaration: [[["),
        (json.dumps({"error": "attack mine has no option 'tpo'\n\x07"}), "attack mine has no option 'tpo'  "),
    ],
)
def test_what_is_no_declaration_is_refused_in_one_line(load: Any, printed: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        load(printed)
    assert said in str(error.value)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1001


def test_a_plugin_that_does_not_end_is_given_up(load: Any) -> None:
    with pytest.raises(UsageError, match=rf"^attack 'mine' did not declare itself within {untrusted.SECONDS} s$"):
        load("", status=None)


def test_it_is_asked_once(load: Any) -> None:
    load(json.dumps(VALID))
    assert load("not asked again").top == 5


def declared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: Path, pairs: list) -> Any:
    """What the part inside the sandbox prints last."""
    monkeypatch.setattr(sys, "argv", ["untrusted", "attack", "mine", str(file), "Mine", json.dumps(pairs)])
    untrusted.main()
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_inside_a_plugin_declares_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], load: Any
) -> None:
    (tmp_path / "good.py").write_text(PLUGIN.format(more=""))
    said = declared(monkeypatch, capsys, tmp_path / "good.py", [["top", "5"]])
    assert said == VALID | {"sees": ["corpus", "encodings"], "protocol": Protocol().as_dict(), "tensors": []}
    assert load(json.dumps(said)).top == 5


@pytest.mark.parametrize(
    ("more", "pairs", "said"),
    [
        ("raise RuntimeError('no luck')", [], "no luck"),
        ("raise SystemExit(0)", [], "SystemExit"),
        ("", [["tpo", "5"]], "tpo"),
        ("", [["top", "many"]], "many"),
    ],
)
def test_inside_an_error_is_declared_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: str,
    pairs: list[list[str]],
    said: str,
) -> None:
    (tmp_path / "bad.py").write_text(PLUGIN.format(more=more))
    found = declared(monkeypatch, capsys, tmp_path / "bad.py", pairs)
    assert set(found) == {"error"}
    assert said in found["error"]


def test_of_a_long_log_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted, "LIMIT", 8)
    command = ["/bin/sh", "-c", "echo 0123456789; printf '\\377end' >&2; exit 3"]
    assert untrusted.run_logged(command, tmp_path / "log", 10) == (3, "789\n\ufffdend")
    assert untrusted.run_logged(["/bin/sleep", "10"], tmp_path / "log", 0.05) == (None, "")


def test_an_option_that_is_nested_too_deeply_is_refused_in_one_line(load: Any) -> None:
    nested: Any = 1
    for _ in range(700):
        nested = [nested]
    with pytest.raises(UsageError, match="'mine'") as caught:
        load(json.dumps({**VALID, "options": {"top": nested}}))
    assert "\n" not in str(caught.value)


def test_what_a_paper_is_called_cannot_move_a_terminals_cursor(load: Any) -> None:
    assert info(load(json.dumps({**VALID, "paper": "Somebody\n\x1b[2J2020"}))).paper == "Somebody  [2J2020"
