"""The parent's side of the talk with an attack's process: stages, questions to the oracle, and in the end a guess."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.arrays import Floats
from bench.isolation import channel
from bench.isolation import guess as guesses
from bench.scoring import packing
from bench.system.text import printable
from bench.types import Guess

Oracle = Callable[[Floats], Floats]
REASON_LIMIT = 2000
TRACEBACK_LINES, TRACEBACK_WIDTH = 60, 300
# No encoder has more. A question of one very long vector would have the defense draw masks of that length.
DIMENSIONS = 1 << 14


@dataclass(frozen=True)
class Reply:
    """What the attack's process answered in the end; `gone` if it ended without a word."""

    status: str
    guess: Guess | None = None
    reason: str | None = None
    used: tuple[str, ...] = ()
    attempts: dict[str, int] = field(default_factory=dict)
    traceback: tuple[str, ...] = ()
    """of the error that ended it, in its own frames"""


def listen(
    sock: socket.socket, deadline: float, late: str, oracle: Oracle | None, stage: Callable[[str], None]
) -> Reply:
    """Until there is an answer, or the deadline (time.monotonic's); `late` is the reason then."""
    while True:
        try:
            kind, facts, arrays = channel.receive(sock, deadline)
            if kind == "oracle" and oracle is not None:
                _answer(sock, oracle, arrays, deadline)
        except TimeoutError:
            return Reply("timeout", reason=late)
        except (EOFError, ConnectionError):  # it may also have died while it waited for an answer
            return Reply("gone")
        except channel.BadMessage as error:
            return Reply("failed", reason=printable(f"it sent garbage instead of a guess: {error}"[:REASON_LIMIT]))
        if kind == "stage":
            stage(printable(str(facts.get("text", ""))[:200]))
        elif kind == "oracle" and oracle is None:
            return Reply("failed", reason="it asked the oracle without declaring it: add 'oracle' to sees")
        elif kind == "error":
            reason = printable(str(facts.get("reason") or "it failed without giving a reason")[:REASON_LIMIT])
            return Reply("failed", reason=reason, attempts=guesses.attempts(facts), traceback=_traceback(facts))
        elif kind == "guess":
            return _guessed(facts, arrays)
        elif kind != "oracle":
            return Reply("failed", reason=f"it sent a message of a kind that is not its own: {kind}")


def _traceback(facts: dict[str, Any]) -> tuple[str, ...]:
    lines = facts.get("traceback")
    given = lines[-TRACEBACK_LINES:] if isinstance(lines, list) else []
    return tuple(printable(str(line)[:TRACEBACK_WIDTH]) for line in given)


def _guessed(facts: dict[str, Any], arrays: dict[str, Any]) -> Reply:
    guess, wrong = packing.read(facts, arrays)
    if guess is None:
        return Reply("failed", reason=wrong, attempts=guesses.attempts(facts))
    return Reply("ok", guess, None, guesses.used(facts), guesses.attempts(facts))


def _answer(sock: socket.socket, oracle: Oracle, arrays: dict[str, Any], deadline: float) -> None:
    try:
        with np.errstate(all="ignore"):  # numbers beyond float32 are the attack's own affair, and no news for the user
            encodings = np.asarray(oracle(_question(arrays)), dtype=np.float32)
    except Exception as error:  # whatever the defense makes of the attack's question is the attack's to hear
        said = f"the oracle could not answer: {error}"[:REASON_LIMIT]
        channel.send(sock, "refusal", {"reason": said}, deadline)
    else:
        channel.send(sock, "answer", None, deadline, encodings=encodings)


def _question(arrays: dict[str, Any]) -> Any:
    vectors = arrays.get("vectors")
    if vectors is None or vectors.ndim != 2 or not 1 <= vectors.shape[1] <= DIMENSIONS:
        raise ValueError(f"a question is a matrix of vectors, n × d, with at most {DIMENSIONS} dimensions")
    return vectors
