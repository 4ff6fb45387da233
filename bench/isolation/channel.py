"""Messages between the parent and an attack's process: a JSON header and raw arrays, never code."""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.errors import BenchError

Array = npt.NDArray[Any]
# Largest message taken: 1 GiB holds 350,000 vectors of 768 dimensions.
LIMIT = 1 << 30
_HEADER_LIMIT = 64 << 20
DIMENSIONS = 8
_DTYPES = frozenset(["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"])


class BadMessage(BenchError):
    """The other side sent something that is not a message."""


def send(sock: socket.socket, kind: str, facts: dict[str, Any] | None = None, **arrays: Array) -> None:
    blocks = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = {name: [block.dtype.name, list(block.shape)] for name, block in blocks.items()}
    header = json.dumps({"kind": kind, "facts": facts or {}, "arrays": shapes}).encode()
    sock.sendall(struct.pack("<Q", len(header)) + header)
    for block in blocks.values():
        sock.sendall(block.reshape(-1).view(np.uint8).data)


def receive(
    sock: socket.socket, limit: int = LIMIT, deadline: float | None = None
) -> tuple[str, dict[str, Any], dict[str, Array]]:
    """The next message, whole by `deadline` (time.monotonic's) or TimeoutError; EOFError if the other side has gone."""
    (length,) = struct.unpack("<Q", _exactly(sock, 8, deadline))
    if length > _HEADER_LIMIT:
        raise BadMessage(f"a header of {length} bytes is not a message")
    try:
        header = json.loads(bytes(_exactly(sock, length, deadline)).decode())
        kind, facts, shapes = str(header["kind"]), dict(header["facts"]), dict(header["arrays"])
        plan = {str(n): (np.dtype(_known(d)), tuple(int(x) for x in shape)) for n, (d, shape) in shapes.items()}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BadMessage(f"not a message: {error}") from error
    sizes = {name: dtype.itemsize * math.prod(shape) for name, (dtype, shape) in plan.items()}
    if any(not 0 <= x <= limit for _, shape in plan.values() for x in shape) or sum(sizes.values()) > limit:
        raise BadMessage(f"a message of {sum(sizes.values()) >> 20} MiB is above the limit of {limit >> 20} MiB")
    if any(len(shape) > DIMENSIONS for _, shape in plan.values()):
        raise BadMessage(f"an array of more than {DIMENSIONS} dimensions is not taken")
    arrays = {}
    for name, (dtype, shape) in plan.items():
        arrays[name] = np.frombuffer(_exactly(sock, sizes[name], deadline), dtype=dtype).reshape(shape)
    return kind, facts, arrays


def _known(dtype: str) -> str:
    if dtype not in _DTYPES:
        raise ValueError(f"arrays of type {dtype} are not taken")
    return dtype


def _exactly(sock: socket.socket, count: int, deadline: float | None) -> bytearray:
    data = bytearray(count)
    view, got = memoryview(data), 0
    while got < count:
        if deadline is not None:  # anew for each part, or a byte now and then would hold us for ever
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            sock.settimeout(left)
        some = sock.recv_into(view[got:], min(count - got, 1 << 20))
        if not some:
            raise EOFError
        got += some
    return data
