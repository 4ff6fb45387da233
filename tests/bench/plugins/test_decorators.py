"""A decorator checks what it is told, and stamps the class."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bench import Protocol, attack, dataset, defense, encoder
from bench.errors import UsageError
from bench.plugins.decorators import info


def test_an_attack_carries_its_threat_model() -> None:
    @attack("mine", sees={"corpus", "encodings"}, paper="p", protocol=Protocol(examples=7), on=("text", "images"))
    @dataclass(frozen=True)
    class Mine:
        def run(self, view: object, rng: object) -> None: ...

    stamp = info(Mine())
    assert (stamp.kind, stamp.name, stamp.paper, stamp.on) == ("attack", "mine", "p", ("text", "images"))
    assert stamp.sees == ("corpus", "encodings")
    assert stamp.protocol.examples == 7


def test_unknown_words_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'encoding'.*encodings"):
        attack("mine", sees={"encoding"})
    with pytest.raises(UsageError, match=r"'sound'.*text"):
        encoder("mine", on=("sound",))


def test_a_class_without_its_method_or_not_frozen_is_refused() -> None:
    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass
    class Mutable:
        def load(self, split: str) -> None: ...

    with pytest.raises(UsageError, match=r"needs a method release\(\)"):
        defense("mine")(Empty)
    with pytest.raises(UsageError, match="frozen=True"):
        dataset("mine")(Mutable)
