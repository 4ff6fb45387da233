"""Sentences of a corpus named from an update, whatever the defense of the representation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from bench import Readings, UsageError
from bench.attacks.common.updates import tensor
from bench.attacks.span import SpanAttack, states
from bench.attacks.span.cover import cover
from bench.attacks.span.subspace import members, span_of
from bench.attacks.span.words import distances
from bench.attacks.token_rows import TokenRows
from bench.encoders import packed
from bench.encoders.packed import Architecture
from bench.surfaces.seen import SeenUpdate
from tests.helpers.rounds import round_cell, scene_and_view
from tests.helpers.tiny_models import save_tiny

RNG = np.random.default_rng(0)


def _share(found: object, guess: object) -> tuple[float, int]:
    """Share of the private sentences that are named, and how many others are."""
    assert isinstance(guess, Readings)
    batches = found.truth.batches  # type: ignore[attr-defined]
    right = wrong = 0
    for number, reading in enumerate(guess.readings):
        mine = batches.tokens[batches.size * number : batches.size * (number + 1)]
        inside = sum(list(one) in mine for one in reading.sentences)
        right, wrong = right + inside, wrong + len(reading.sentences) - inside
    return right / len(batches.tokens), wrong


@pytest.mark.parametrize("defense", ["none", "mix-only:k=2", "texthide:m=4,k=3", "texthide:m=inf", "dp-ie-laplace:k=2"])
def test_every_sentence_and_no_other(tmp_path: Path, defense: str) -> None:
    found, seen = scene_and_view(round_cell(tmp_path, "span", defense), tmp_path / "view")
    guess = SpanAttack().run(seen, RNG)
    assert _share(found, guess) == (1.0, 0)
    assert isinstance(guess, Readings)
    assert all(reading.certified for reading in guess.readings)
    assert [ranks["2"] for ranks in guess.details["ranks"]] == [4, 4]  # sentences in a batch


@pytest.mark.parametrize("family", ["mpnet", "roberta"])
def test_other_families(tmp_path: Path, family: str) -> None:
    """Relative positions, and positions that are counted from 2."""
    found, seen = scene_and_view(round_cell(tmp_path, "span", "texthide:k=2", family), tmp_path / "view")
    assert _share(found, SpanAttack().run(seen, RNG)) == (1.0, 0)


def test_a_tokenizer_that_keeps_case(tmp_path: Path) -> None:
    """Words in capitals are others than small ones, here unknown: what differs in case alone is told apart."""
    from transformers import BertTokenizerFast

    model = save_tiny(tmp_path / "bert", initializer_range=0.4)
    cased = BertTokenizerFast(str(model / "vocab.txt"), do_lower_case=False)
    assert cased("the THE")["input_ids"][1:3] == [5, 1]
    cased.save_pretrained(model)
    cell = round_cell(tmp_path, "span", "texthide:k=2")
    data = tmp_path / "data" / "train.csv"
    lines = data.read_text().splitlines()
    data.write_text(
        "\n".join([lines[0], *(line.replace("a", "A", 1) if at % 2 else line for at, line in enumerate(lines[1:]))])
    )
    found, seen = scene_and_view(cell, tmp_path / "view")
    assert any(1 in one for one in found.truth.batches.tokens)  # type: ignore[attr-defined]
    assert _share(found, SpanAttack().run(seen, RNG)) == (1.0, 0)


def test_sentences_beyond_the_longest_length(tmp_path: Path) -> None:
    """They are cut, and touch all places: that every row has a gradient is no noise then."""
    cell = round_cell(tmp_path, "span", "texthide:k=2")
    data = tmp_path / "data" / "train.csv"
    head, *lines = data.read_text().splitlines()
    data.write_text(
        "\n".join([head, *(f"{'cat dog ' * 30}{line}" if at % 4 == 0 else line for at, line in enumerate(lines))])
    )
    found, seen = scene_and_view(cell, tmp_path / "view")
    tokens = found.truth.batches.tokens  # type: ignore[attr-defined]
    assert max(map(len, tokens)) == seen.updates.max_length == 40
    # Cut ones are all the same, and so one candidate.
    named = [list(one) for reading in SpanAttack().run(seen, RNG).readings for one in reading.sentences]  # type: ignore[attr-defined]
    assert {tuple(one) for one in named} == {tuple(one) for one in tokens}
    assert max(TokenRows().run(seen, RNG).details["longest"]) == 40


@pytest.mark.parametrize("update", ["share=layers", "share=top:1", "precision=bf16", "share=top:2,dropout=0.0"])
def test_parts_of_an_update(tmp_path: Path, update: str) -> None:
    found, seen = scene_and_view(round_cell(tmp_path, "span", "texthide:k=2", update=update), tmp_path / "view")
    assert _share(found, SpanAttack().run(seen, RNG))[0] == 1.0


def test_who_is_not_in_the_corpus_is_not_named(tmp_path: Path) -> None:
    found, seen = scene_and_view(round_cell(tmp_path, coverage=0.5, batch=2), tmp_path / "view")
    assert _share(found, SpanAttack().run(seen, RNG)) == (0.5, 0)


def test_only_the_head_is_sent(tmp_path: Path) -> None:
    _, seen = scene_and_view(round_cell(tmp_path, update="share=head"), tmp_path / "view")
    with pytest.raises(UsageError, match=r"span reads a layer's weights, and the client does not send that"):
        SpanAttack().run(seen, RNG)


@pytest.mark.parametrize(("value", "reason"), [(np.nan, "holds NaN or infinite values"), (0.0, "is zero everywhere")])
def test_updates_that_say_nothing(tmp_path: Path, value: float, reason: str) -> None:
    np.save(tmp_path / "layer.0.down.weight.npy", np.full((3, 4), value, np.float32))
    with pytest.raises(UsageError, match=reason):
        tensor(SeenUpdate(tmp_path, {}), "layer.0.down.weight")


def test_the_distance_of_words_at_places_is_that_of_the_inputs(tmp_path: Path) -> None:
    cell = round_cell(tmp_path)
    architecture = Architecture.read(cell.encoder.plugin.folder)
    weights = packed.load(cell.encoder.plugin.folder, architecture)
    span = span_of(np.random.default_rng(2).normal(size=(5, 24)))
    found = distances(span, weights, architecture.offset, 6, architecture.eps)
    batch = packed.pack([[7, 9, 11, 7, 20, 3]], [[0] * 6])
    inputs = packed.embed(weights, batch, architecture).numpy()
    # Of two types of segment the nearer one counts; the first is one of them.
    direct = span.distance(inputs)
    ours = found[batch.ids.numpy(), np.arange(6)]
    assert (ours <= direct + 1e-6).all()
    other = packed.embed(weights, packed.pack([[7, 9, 11, 7, 20, 3]], [[1] * 6]), architecture).numpy()
    assert np.allclose(ours, np.minimum(direct, span.distance(other)), atol=1e-6)
    assert torch.is_tensor(weights["embeddings.word"])


def test_the_rank_is_where_singular_values_drop() -> None:
    rng = np.random.default_rng(3)
    gradient = rng.normal(size=(30, 7)) @ rng.normal(size=(7, 50)) + 1e-7 * rng.normal(size=(30, 50))
    span = span_of(gradient)
    assert (span.rank, span.whole) == (7, False)
    assert span.floor < 1e-5
    assert span_of(rng.normal(size=(30, 50))).whole


def test_members_end_at_the_widest_gap() -> None:
    assert members(np.array([0.5, 1e-6, 2e-6, 0.1]), 3, 1e-6).tolist() == [False, True, True, False]
    assert not members(np.array([0.5, 0.4, 0.3]), 2, 1e-6).any()
    # A gap that rounding does not explain: somebody who resembles a member.
    assert not members(np.array([0.5, 0.01, 0.6]), 2, 1e-6).any()


def test_a_word_that_only_one_candidate_has_names_it() -> None:
    sentences = [np.array(one) for one in ([1, 2], [2, 3], [1, 3], [4])]
    scores = np.array([0.9, 0.8, 0.7, 0.0])
    assert cover(sentences, np.array([1, 2, 4]), scores, 2).tolist() == [0, 3]
    assert cover(sentences, None, scores, 2).tolist() == [0, 1]
    # Word 9 stands in no candidate, which is no reason to give up.
    assert cover(sentences, np.array([1, 2, 4, 9]), scores, 2).tolist() == [0, 3]


def test_candidates_run_in_blocks_of_so_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that memory does not grow with the corpus; in order of length, each once."""
    monkeypatch.setattr(states, "BLOCK", 64)
    lengths = RNG.integers(3, 20, size=500)
    found = list(states.blocks(lengths))
    assert sorted(np.concatenate(found)) == list(range(500))
    assert max(int(lengths[rows].sum()) for rows in found) <= 2 * 64
