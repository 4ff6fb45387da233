"""Streams depend on what they were asked for by, and on nothing else; the published numbers hang on their values."""

from __future__ import annotations

from bench.system.seeds import entropy, for_attack, for_score, generator


def test_the_streams_behind_published_numbers() -> None:
    assert entropy(0, "private", "f") == 0x507DA99F3DDE1AD3740B667B9CF9268D
    assert for_attack(0, "rss", {"top": 16}) == entropy(0, "attack", "rss", {"top": 16})
    assert for_score(1, "cola").integers(1 << 30) == generator(1, "score", "cola").integers(1 << 30)


def test_every_word_makes_another_stream_and_the_order_of_options_does_not() -> None:
    streams = {entropy(0, "a"), entropy(1, "a"), entropy(0, "b"), entropy(0, "a", "b"), entropy(0, "ab")}
    assert len(streams) == 5
    assert for_attack(0, "x", {"a": 1, "b": 2}) == for_attack(0, "x", {"b": 2, "a": 1})
