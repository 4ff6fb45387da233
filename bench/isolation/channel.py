"""Messages between the parent and an attack's process: a small JSON head, JSON facts and raw arrays, never code.

    8 bytes    length of the head
    head       {"kind": …, "facts": bytes of the facts, "arrays": {name: [type, shape]}}
    facts      JSON
    arrays     one after the other

Whatever a message announces is counted and held against the limits of its kind before anything is computed from it, or
room is made for it: the other side may be hostile.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError

Array = npt.NDArray[Any]
# Numbers in the arrays of one message, whatever their type: 350,000 vectors of 384 dimensions, 1 GiB as float64. By
# number, since who works with them may need the same width for all.
LIMIT = 1 << 27
HEAD = 16 << 10
ARRAYS = 16
NAME = 40
DIMENSIONS = 8
# Values in the facts, which as Python objects take up to a hundred bytes each.
VALUES = 1 << 21
_DTYPES = frozenset(["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])


@dataclass(frozen=True)
class Size:
    """What a message may hold at most."""

    facts: int
    """bytes"""
    numbers: int = 0
    """in all of its arrays"""


# A guess may hold a text for each item besides 8 MiB of details (bench.scoring.packing).
SIZES = {
    "stage": Size(4 << 10),
    "oracle": Size(4 << 10, 1 << 24),
    "answer": Size(4 << 10, LIMIT),
    "refusal": Size(16 << 10),
    "error": Size(256 << 10),
    "guess": Size(32 << 20, LIMIT),
}


class BadMessage(BenchError):
    """The other side sent something that is not a message."""


def send(
    sock: socket.socket, kind: str, facts: dict[str, Any] | None = None, deadline: float | None = None, **arrays: Array
) -> None:
    """Send all of it by `deadline` (time.monotonic's), or TimeoutError: the other side may not read."""
    blocks = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if (numbers := sum(block.size for block in blocks.values())) > SIZES[kind].numbers:
        # Here, where an honest author is told, rather than at the other end.
        raise ValueError(f"{numbers:,} numbers in one message ({kind}); at most {SIZES[kind].numbers:,} are taken")
    shapes = {name: [block.dtype.name, list(block.shape)] for name, block in blocks.items()}
    body = json.dumps(facts or {}).encode()
    head = json.dumps({"kind": kind, "facts": len(body), "arrays": shapes}).encode()
    parts: list[Any] = [struct.pack("<Q", len(head)) + head + body]
    parts += [block.reshape(-1).view(np.uint8).data for block in blocks.values()]
    for part in parts:
        if deadline is not None:
            sock.settimeout(_left(deadline))
        sock.sendall(part)


def receive(
    sock: socket.socket, deadline: float | None = None, sizes: dict[str, Size] = SIZES
) -> tuple[str, dict[str, Any], dict[str, Array]]:
    """The next message, whole by `deadline` (time.monotonic's) or TimeoutError; EOFError if the other side has gone."""
    (length,) = struct.unpack("<Q", _exactly(sock, 8, deadline))
    if length > HEAD:
        raise BadMessage(f"a head of {length} bytes is not a message's")
    kind, size, plan = _head(bytes(_exactly(sock, length, deadline)), sizes)
    facts = _facts(bytes(_exactly(sock, size, deadline)))
    arrays = {}
    for name, (dtype, shape) in plan.items():
        block = _exactly(sock, dtype.itemsize * math.prod(shape), deadline)
        try:
            arrays[name] = np.frombuffer(block, dtype=dtype).reshape(shape)
        except ValueError as error:  # empty, with dimensions that no array has
            raise BadMessage(f"not a message: {error}") from error
    return kind, facts, arrays


def _head(text: bytes, sizes: dict[str, Size]) -> tuple[str, int, dict[str, tuple[np.dtype[Any], tuple[int, ...]]]]:
    try:
        head = json.loads(text.decode())
        kind, facts, arrays = head["kind"], head["facts"], dict(head["arrays"])
        if not isinstance(kind, str) or not _is_count(facts):
            raise ValueError("a head holds a kind and the size of the facts")
        plan = {_name(name): _planned(*what) for name, what in arrays.items()}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BadMessage(f"not a message: {str(error)[:200]}") from error
    if kind not in sizes:
        raise BadMessage(f"a message of an unknown kind: {kind[:NAME]!r}")
    most = sizes[kind]
    if facts > most.facts:
        raise BadMessage(f"{facts >> 10} KiB of facts are above the limit of {most.facts >> 10} KiB")
    if len(plan) > ARRAYS:
        raise BadMessage(f"{len(plan)} arrays are above the limit of {ARRAYS}")
    numbers = sum(math.prod(shape) for _, shape in plan.values())
    if numbers > most.numbers:
        raise BadMessage(f"a message of {numbers:,} numbers is above the limit of {most.numbers:,}")
    return kind, facts, plan


def _name(name: str) -> str:
    if len(name) > NAME:
        raise ValueError(f"the name of an array has at most {NAME} letters")
    return name


def _planned(dtype: Any, shape: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError(f"arrays of type {str(dtype)[:NAME]} are not taken")
    # Before any product: one of very many numbers takes minutes.
    if not isinstance(shape, list) or len(shape) > DIMENSIONS:
        raise ValueError(f"an array has at most {DIMENSIONS} dimensions")
    if not all(_is_count(length) for length in shape):
        raise ValueError("the shape of an array is made of whole numbers, none of them above the limit")
    return np.dtype(dtype), tuple(shape)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LIMIT


def _facts(text: bytes) -> dict[str, Any]:
    # Commas separate values, brackets hold them: an upper bound for their number, without parsing.
    if text.count(b",") + text.count(b"[") + text.count(b"{") > VALUES:
        raise BadMessage(f"more than {VALUES:,} values are not taken")
    try:
        return dict(json.loads(text.decode()))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadMessage(f"not a message: {str(error)[:200]}") from error


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _exactly(sock: socket.socket, count: int, deadline: float | None) -> bytearray:
    """So many bytes. Room is made as they come: who announces much and sends little gets little."""
    data = bytearray()
    while len(data) < count:
        if deadline is not None:  # anew for each part, or a byte now and then would hold us for ever
            sock.settimeout(_left(deadline))
        part = sock.recv(min(count - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return data
