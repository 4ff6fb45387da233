from __future__ import annotations

import json
import pickle
import socket
import struct
import threading

import numpy as np
import pytest

from bench.isolation import channel


def test_arrays_arrive_as_they_were_sent() -> None:
    ours, theirs = socket.socketpair()
    big = np.arange(3_000_000, dtype=np.float32).reshape(3, -1)
    sender = threading.Thread(
        target=channel.send, args=(ours, "guess", {"a": [1, None]}), kwargs={"x": big, "y": np.zeros((0, 4))}
    )
    sender.start()
    kind, facts, arrays = channel.receive(theirs)
    sender.join()
    assert (kind, facts) == ("guess", {"a": [1, None]})
    assert np.array_equal(arrays["x"], big)
    assert arrays["y"].shape == (0, 4)


def header(arrays: dict[str, object]) -> bytes:
    text = json.dumps({"kind": "guess", "facts": {}, "arrays": arrays}).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "message",
    [
        struct.pack("<Q", 1 << 40),
        struct.pack("<Q", 4) + b"{{{{",
        header({"x": ["object", [1]]}),
        header({"x": ["float64", [1 << 40]]}),
        header({"x": ["float32", [-1, 4]]}),
        struct.pack("<Q", 40) + pickle.dumps({"a": 1}).ljust(40),
    ],
)
def test_what_is_not_a_message_is_refused(message: bytes) -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(message)
    with pytest.raises(channel.BadMessage):
        channel.receive(theirs)


def test_an_end_in_the_middle_is_an_end() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(header({"x": ["float32", [100]]}))
    ours.close()
    with pytest.raises(EOFError):
        channel.receive(theirs)


def test_a_message_that_drips_is_late() -> None:
    import threading
    import time

    ours, theirs = socket.socketpair()
    theirs.sendall(struct.pack("<Q", 1000))  # at ten bytes a second it would be whole after 100 s
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.1):
            theirs.sendall(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        channel.receive(ours, deadline=start + 0.5)
    assert time.monotonic() - start < 20  # the limit is 0.5 s; a busy machine may be late
    stop.set()
    thread.join()


@pytest.mark.parametrize("shape", ["[Infinity]", "[1e400]", "[0, 1000000000000000000000]", str([1] * 100), "[-1]"])
def test_shapes_that_no_array_has(shape: str) -> None:
    ours, theirs = socket.socketpair()
    header = f'{{"kind": "guess", "facts": {{}}, "arrays": {{"ranking": ["int8", {shape}]}}}}'.encode()
    theirs.sendall(struct.pack("<Q", len(header)) + header + b"x")
    with pytest.raises(channel.BadMessage):
        channel.receive(ours)
