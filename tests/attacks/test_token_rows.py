"""Words from the rows of the word embedding's gradient."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import UsageError
from bench.attacks.common.updates import touched
from bench.attacks.token_rows import TokenRows
from bench.surfaces.seen import SeenUpdate
from tests.helpers.rounds import round_cell, scene_and_view

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("defense", ["none", "texthide:m=inf,k=2"])
def test_all_words_of_a_batch_and_no_others(tmp_path: Path, defense: str) -> None:
    found, seen = scene_and_view(round_cell(tmp_path, "token-rows", defense), tmp_path / "view")
    guess = TokenRows().run(seen, RNG)
    batches = found.truth.batches  # type: ignore[attr-defined]
    for number, reading in enumerate(guess.readings):  # type: ignore[attr-defined]
        mine = batches.tokens[4 * number : 4 * number + 4]
        assert set(reading.tokens) == {token for one in mine for token in one}
        assert guess.details["longest"][number] == max(map(len, mine))


def test_under_noise_only_rows_that_noise_cannot_explain(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 24)).astype(np.float32)
    rows[[3, 70]] *= 10
    np.save(tmp_path / "embeddings.word.npy", rows)
    update = SeenUpdate(tmp_path, {"embeddings.word": [500, 24]})
    assert touched(update, "embeddings.word", 500).tolist() == [3, 70]


def test_embeddings_that_are_not_sent(tmp_path: Path) -> None:
    _, seen = scene_and_view(round_cell(tmp_path, "token-rows", update="share=layers"), tmp_path / "view")
    with pytest.raises(UsageError, match=r"the client does not send that: it needs --update share=all"):
        TokenRows().run(seen, RNG)


@pytest.mark.parametrize(("value", "reason"), [(np.nan, "NaN .* lower its rate"), (0.0, "zero everywhere: .* take")])
def test_updates_without_words(tmp_path: Path, value: float, reason: str) -> None:
    rows = np.flatnonzero(np.full(500, value))
    np.save(tmp_path / "embeddings.word.npy", np.full((len(rows), 24), value, np.float32))
    np.save(tmp_path / "embeddings.word.rows.npy", rows)
    update = SeenUpdate(tmp_path, {"embeddings.word": [500, 24]})
    with pytest.raises(UsageError, match=reason) as error:
        touched(update, "embeddings.word", 500)
    assert "\n" not in str(error.value)
