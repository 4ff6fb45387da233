"""`--batch` and `--update`: what they may say."""

from __future__ import annotations

import pytest

from bench import Protocol, UpdateProtocol, UsageError
from bench.plugins.rounds import from_sizes, parse, sized


def test_options_are_kept_in_one_order() -> None:
    protocol = UpdateProtocol(update="dropout=0.1, share=top:2")
    assert protocol.update == "share=top:2,dropout=0.1"
    assert (protocol.how.share, protocol.how.dropout) == ("top:2", 0.1)
    assert UpdateProtocol().update == ""


def test_a_batch_alone_asks_for_five_of_them() -> None:
    assert sized(UpdateProtocol(), {"batch": 8}).examples == 40
    assert sized(UpdateProtocol(), {"batch": 8, "examples": 16}).examples == 16
    assert UpdateProtocol(batch=32).fitted(100).examples == 96


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"batch": 0}, "at least one sentence"),
        ({"batch": 64, "examples": 32}, "--batch 64 is above --examples 32"),
        ({"batch": 32, "examples": 50}, "give a multiple of --batch"),
        ({"epochs": 2}, "every sentence is in one update"),
        ({"update": "share=some"}, "expected all, encoder, layers, head, or top:N"),
        ({"update": "shore=all"}, "share"),
        ({"update": "dropout=1"}, "dropout must lie between 0 and 1"),
        ({"update": "precision=int8"}, "precision"),
        ({"update": "steps=40"}, "has too few sentences; lower steps"),
    ],
)
def test_what_cannot_be(sizes: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        UpdateProtocol(**{"examples": 160, **sizes})
    assert "\n" not in str(error.value)


def test_more_sentences_in_a_batch_than_there_are() -> None:
    with pytest.raises(UsageError, match="there are 20 different sentences; lower it"):
        UpdateProtocol(batch=32).fitted(20)


def test_other_attacks_have_no_batch() -> None:
    with pytest.raises(UsageError, match="--batch is for attacks on updates"):
        sized(Protocol(), {"batch": 8})


def test_protocols_of_records() -> None:
    sizes = Protocol(examples=5).as_dict() | {"batch": None, "update": None}
    assert from_sizes(sizes) == Protocol(examples=5)
    assert from_sizes(UpdateProtocol().as_dict()) == UpdateProtocol()
    assert parse("").label == ""
