"""Sentences read out of an update without any corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import Readings, UsageError
from bench.attacks.span_blind import SpanBlind
from tests.helpers.rounds import round_cell, scene_and_view


@pytest.mark.parametrize("defense", ["none", "texthide:m=4,k=2"])
def test_every_sentence_of_a_small_batch(tmp_path: Path, defense: str) -> None:
    found, seen = scene_and_view(round_cell(tmp_path, "span-blind", defense, batch=2, examples=4), tmp_path / "view")
    guess = SpanBlind().run(seen, np.random.default_rng(0))
    assert isinstance(guess, Readings)
    batches = found.truth.batches  # type: ignore[attr-defined]
    right = 0
    for number, reading in enumerate(guess.readings):
        mine = batches.tokens[2 * number : 2 * number + 2]
        assert all(list(one) in mine for one in reading.sentences)  # what is named is right
        assert reading.certified == (len(reading.sentences) == 2)
        right += len(reading.sentences)
    assert right >= 3


def test_the_first_layer_is_needed(tmp_path: Path) -> None:
    _, seen = scene_and_view(round_cell(tmp_path, "span-blind", update="share=top:1"), tmp_path / "view")
    with pytest.raises(UsageError, match=r"span-blind reads layer.0.qkv.weight, and the client does not send that"):
        SpanBlind().run(seen, np.random.default_rng(0))
