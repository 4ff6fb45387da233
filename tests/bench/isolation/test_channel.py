from __future__ import annotations

import contextlib
import json
import pickle
import socket
import struct
import threading
import time
import tracemalloc

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


def framed(head: str | bytes, facts: bytes = b"") -> bytes:
    head = head.encode() if isinstance(head, str) else head
    return struct.pack("<Q", len(head)) + head + facts


def header(arrays: object, kind: str = "guess", facts: bytes = b"{}") -> bytes:
    return framed(json.dumps({"kind": kind, "facts": len(facts), "arrays": arrays}), facts)


@pytest.mark.parametrize(
    "message",
    [
        struct.pack("<Q", 1 << 40),
        struct.pack("<Q", 4) + b"{{{{",
        header({"x": ["object", [1]]}),
        header({"x": ["float64", [1 << 40]]}),
        header({"x": ["float32", [-1, 4]]}),
        header({"x": ["float32", [True]]}),
        header({"x": ["float32", 4]}),
        header({"x": ["float32", [0, *[1 << 27] * 7]]}),
        header({"x": ["int8", [1 << 14, 1 << 14]]}),  # few bytes, but too many numbers for who needs them wider
        header({"x" * 41: ["int8", [1]]}),
        header({f"x{i}": ["int8", [0]] for i in range(17)}),
        header([1]),
        header({"x": ["int8", [1]]}, kind="stage"),
        header({}, kind="no such kind"),
        header({}, kind=["stage"]),
        header({}, facts=b"[1]"),
        header({}, facts=b"[" * 100_000),
        header({}, facts=b"9" * 100_000),
        header({}, kind="stage", facts=b'{"text": "' + b"x" * 5000 + b'"}'),
        header({}, facts=b'{"details": [' + b"[]," * (channel.VALUES // 2 + 1) + b"[]]}"),
        framed('{"kind": "guess", "facts": -1, "arrays": {}}'),
        framed('{"kind": "guess", "facts": 1e9, "arrays": {}}'),
        framed(" " * (channel.HEAD + 1)),
        struct.pack("<Q", 40) + pickle.dumps({"a": 1}).ljust(40),
    ],
)
def test_what_is_not_a_message_is_refused(message: bytes) -> None:
    ours, theirs = socket.socketpair()
    threading.Thread(target=_send, args=(ours, message), daemon=True).start()
    start = time.monotonic()
    with pytest.raises(channel.BadMessage) as caught:
        channel.receive(theirs)
    theirs.close()
    assert time.monotonic() - start < 5
    assert len(str(caught.value)) < 400


def _send(sock: socket.socket, message: bytes) -> None:
    with contextlib.suppress(OSError):  # the other side does not read what it refuses
        sock.sendall(message)


def test_a_shape_of_very_many_numbers_is_refused_before_they_are_multiplied() -> None:
    """160,000 of them: their product has 20 MB, and takes minutes."""
    ours, theirs = socket.socketpair()
    text = f'{{"kind": "guess", "facts": 2, "arrays": {{"x": ["int8", [{",".join(["134217728"] * 160_000)}]]}}}}'
    threading.Thread(target=_send, args=(ours, framed(text)), daemon=True).start()
    start = time.monotonic()
    with pytest.raises(channel.BadMessage):
        channel.receive(theirs, deadline=start + 5)
    theirs.close()
    assert time.monotonic() - start < 2


def test_who_announces_much_and_sends_little_gets_little_room() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(header({"x": ["float64", [1 << 27]]}))  # a GiB
    tracemalloc.start()
    with pytest.raises(TimeoutError):
        channel.receive(theirs, deadline=time.monotonic() + 0.3)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_an_author_hears_of_too_large_a_question_before_it_is_sent() -> None:
    ours, _theirs = socket.socketpair()
    with pytest.raises(ValueError, match="at most 16,777,216 are taken"):
        channel.send(ours, "oracle", vectors=np.zeros((1 << 12, (1 << 12) + 1), dtype=np.int8))


def test_who_does_not_read_cannot_hold_the_sender() -> None:
    ours, _theirs = socket.socketpair()
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        channel.send(ours, "answer", None, start + 0.3, encodings=np.zeros(1 << 22))
    assert time.monotonic() - start < 5


def test_an_end_in_the_middle_is_an_end() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(header({"x": ["float32", [100]]}))
    ours.close()
    with pytest.raises(EOFError):
        channel.receive(theirs)


def test_a_message_that_drips_is_late() -> None:
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
    theirs.sendall(framed(f'{{"kind": "guess", "facts": 2, "arrays": {{"ranking": ["int8", {shape}]}}}}', b"{}x"))
    with pytest.raises(channel.BadMessage):
        channel.receive(ours)
