"""The parent's side of the talk: whatever is said, it comes to a reply with a reason of one line."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import numpy as np
import pytest

from bench.isolation import channel, dialogue


def talk(*messages: tuple[str, dict[str, Any], dict[str, Any]], oracle: Any = None, seconds: float = 5) -> Any:
    """The reply when these are sent, the stages, and what was sent back."""
    ours, theirs = socket.socketpair()
    stages: list[str] = []
    heard: list[Any] = []

    def attack() -> None:
        for kind, facts, arrays in messages:
            channel.send(theirs, kind, facts, **arrays)
            if kind == "oracle" and oracle is not None:
                heard.append(channel.receive(theirs))
        theirs.close()

    thread = threading.Thread(target=attack)
    thread.start()
    reply = dialogue.listen(ours, time.monotonic() + seconds, "late", oracle, stages.append)
    thread.join(10)
    return reply, stages, heard


def guess(**facts: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    return "guess", {"used": ["corpus"], "attempts": {"x": 10**30}, **facts}, {"ranking": np.zeros((2, 1), np.int64)}


def test_stages_then_a_guess() -> None:
    reply, stages, _ = talk(
        ("stage", {"text": "\x1b[2Jone"}, {}), ("stage", {"text": ["two"]}, {}), guess(details={"a": 1})
    )
    assert stages == [" [2Jone", "['two']"]
    assert (reply.status, reply.used, reply.guess.details) == ("ok", ("corpus",), {"a": 1})
    assert reply.attempts == {"x": 1_000_000}


def test_numbers_that_are_too_large_are_answered_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    vectors = {"vectors": np.full((2, 2), 1e300)}
    _, _, heard = talk(("oracle", {}, vectors), guess(), oracle=lambda asked: asked * 2)
    assert heard[0][0] == "answer"
    assert not [warning for warning in recwarn.list if issubclass(warning.category, RuntimeWarning)]


def test_an_oracle_answers_or_says_why_not() -> None:
    vectors = {"vectors": np.ones((2, 3), dtype=np.float32)}
    reply, _, heard = talk(("oracle", {}, vectors), guess(), oracle=lambda asked: asked * 2)
    assert heard[0][0] == "answer"
    assert (heard[0][2]["encodings"] == 2).all()

    def fails(asked: Any) -> Any:
        raise RuntimeError("x" * 100_000)

    _, _, heard = talk(("oracle", {}, vectors), guess(), oracle=fails)
    assert heard[0][0] == "refusal"
    assert len(heard[0][1]["reason"]) <= dialogue.REASON_LIMIT
    assert reply.status == "ok"


@pytest.mark.parametrize(
    "arrays",
    [{}, {"vectors": np.ones(3)}, {"vectors": np.ones((1, 1 << 15))}, {"vectors": np.ones((4, 0))}, {"x": np.ones(1)}],
)
def test_what_is_no_question_never_reaches_the_defense(arrays: dict[str, Any]) -> None:
    asked: list[Any] = []
    _, _, heard = talk(("oracle", {}, arrays), guess(), oracle=asked.append)
    assert "a question is a matrix of vectors" in heard[0][1]["reason"]
    assert asked == []


@pytest.mark.parametrize(
    ("message", "status", "said"),
    [
        (("oracle", {}, {"vectors": np.ones((1, 1))}), "failed", "without declaring it"),
        (("answer", {}, {}), "failed", "a kind that is not its own"),
        (("error", {"reason": "no\nluck" * 9999}, {}), "failed", "no luck"),
        (("error", {}, {}), "failed", "without giving a reason"),
        (("guess", {}, {"__class__": np.ones(1)}), "failed", "arrays that no guess has"),
        (("stage", {}, {}), "gone", "None"),
    ],
)
def test_anything_else_ends_the_talk_with_a_reason(message: Any, status: str, said: str) -> None:
    reply, _, _ = talk(message)
    assert reply.status == status
    assert said in str(reply.reason)
    assert str(reply.reason).isprintable()
    assert len(str(reply.reason)) <= dialogue.REASON_LIMIT


def test_who_says_nothing_is_late() -> None:
    ours, _theirs = socket.socketpair()
    reply = dialogue.listen(ours, time.monotonic() + 0.2, "late", None, print)
    assert (reply.status, reply.reason) == ("timeout", "late")
