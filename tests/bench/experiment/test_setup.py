"""Who is private, what the attacker's corpus holds, and what the oracle answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bench import Examples
from bench.errors import BenchError, DataError, UsageError
from bench.experiment import setup
from bench.experiment.cells import Cell
from bench.experiment.setup import CellSetup
from bench.plugins.protocol import Protocol
from tests.helpers.cells import small_cell

TEXTS = [f"text {i}" for i in range(20)]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def build(cell: Cell, salt: str | None = None) -> CellSetup:
    return setup.build(cell, device="cpu", progress=lambda text: None, salt=salt)


@dataclass(frozen=True)
class Fixed:
    """A data set of these examples; equal to itself alone."""

    examples: tuple[Examples, ...]

    __hash__ = object.__hash__

    def load(self, split: str) -> Examples:
        return self.examples[0]


def fingerprint(*args: object) -> str:
    return setup.load(Fixed((Examples(*args),)), "train")[1]


def test_private_texts_all_differ_and_none_comes_before_the_start() -> None:
    texts = ["a"] * 30 + ["b"] * 30 + ["c", "d", "a", "e"]
    rows, _ = setup.choose(texts, Protocol(examples=5), rng())
    assert sorted(texts[i] for i in rows) == ["a", "b", "c", "d", "e"]
    rows, corpus = setup.choose(texts, Protocol(examples=3), rng(), start=60)
    assert sorted(rows) == [60, 61, 63]  # the copy of a known text, at 62, is known as well
    assert list(corpus) == list(range(64))


@pytest.mark.parametrize(("coverage", "covered"), [(0.0, 0), (0.3, 3), (1.0, 10)])
@pytest.mark.parametrize("candidates", [None, 10])
def test_coverage_is_the_share_of_the_private_that_the_corpus_holds(
    coverage: float, covered: int, candidates: int | None
) -> None:
    protocol = Protocol(examples=10, coverage=coverage, candidates=candidates)
    rows, corpus = setup.choose(TEXTS, protocol, rng())
    assert len(np.intersect1d(rows, corpus)) == covered
    assert list(corpus) == sorted(set(corpus))  # its order says nothing on who is private
    # Without a limit, all others are in it.
    assert len(corpus) == (candidates or 10 + covered)


def test_every_copy_of_an_uncovered_text_leaves_the_corpus() -> None:
    texts = [*TEXTS, *TEXTS]
    rows, corpus = setup.choose(texts, Protocol(examples=10, coverage=0.5), rng())
    held = {texts[i] for i in corpus}
    assert [texts[i] in held for i in rows] == [True] * 5 + [False] * 5
    assert len(corpus) == 30  # copies of all others stay


def test_a_limit_above_what_there_is_leaves_all_of_it() -> None:
    assert len(setup.choose(TEXTS, Protocol(examples=4, candidates=500), rng())[1]) == 20


def test_an_empty_corpus_is_refused() -> None:
    with pytest.raises(UsageError, match="corpus is empty: raise --coverage"):
        setup.choose(TEXTS, Protocol(examples=20, coverage=0), rng())


def test_a_fingerprint_is_of_content_alone() -> None:
    same = (["ab", "c"], [0, 1], ("no", "yes"))
    assert fingerprint(*same) == fingerprint(*same)
    changed = [
        (["a", "bc"], [0, 1], ("no", "yes")),
        (["c", "ab"], [0, 1], ("no", "yes")),
        (["ab", "c"], [1, 0], ("no", "yes")),
        (["ab", "c"], [0, 1], ("yes", "no")),
        (["ab", "c"], [0, 1]),
        (["ab", "c"], [0, 1], ("no", "yes"), np.zeros((2, 1, 2, 2))),
        (["ab", "c"], [0, 1], ("no", "yes"), np.ones((2, 1, 2, 2))),
    ]
    assert len({fingerprint(*same), *(fingerprint(*other) for other in changed)}) == 1 + len(changed)
    assert fingerprint(["\ud800", "c"], [0, 1]) != fingerprint(["\ud801", "c"], [0, 1])  # no valid UTF-8


def test_data_is_loaded_once_and_one_example_is_too_few() -> None:
    data = Fixed((Examples(TEXTS, np.zeros(20)),))
    assert setup.load(data, "train")[0] is setup.load(data, "train")[0]
    with pytest.raises(DataError, match=r"train split of .* holds 1 examples: at least 2"):
        fingerprint(["alone"], [0.5])


def test_from_dev_the_corpus_begins_with_train_which_is_known() -> None:
    cell = small_cell({"split": "dev", "examples": 6, "coverage": 1.0}, dataset="small:shared=3")
    data, prints, start = setup.pool(cell)
    assert (len(data), start) == (40, 30)
    assert prints == "-".join(setup.load(cell.dataset.plugin, split)[1] for split in ("train", "dev"))
    scene = build(cell)
    assert all(text.startswith("dev") for text in scene.truth.private.texts)
    assert scene.truth.corpus.known == 30
    assert scene.truth.corpus.texts == data.texts
    train, only, start = setup.pool(replace(cell, protocol=Protocol()))
    assert (len(train), only, start) == (30, prints.partition("-")[0], 0)


def test_train_and_dev_of_different_labels_are_refused() -> None:
    with pytest.raises(DataError, match="train and dev of small have different labels"):
        setup.pool(small_cell({"split": "dev"}, dataset="small:dev_classes=yes no"))


@pytest.mark.parametrize(
    ("dataset", "split", "available"),
    [("small:size=5", "train", 5), ("small:size=5,copies=9", "train", 5), ("small:dev=9,shared=4", "dev", 5)],
)
def test_a_protocol_is_trimmed_to_the_data_unless_the_user_fixed_its_size(
    dataset: str, split: str, available: int
) -> None:
    assert setup.protocol_for(small_cell({"split": split}, dataset=dataset)).examples == available
    assert setup.protocol_for(small_cell({"split": split, "examples": 5}, dataset=dataset)).examples == 5
    with pytest.raises(UsageError, match=f"has {available} different examples, fewer than --examples 6"):
        setup.protocol_for(small_cell({"split": split, "examples": 6}, dataset=dataset))


def test_the_private_are_the_same_for_every_defense_and_attack_of_a_seed() -> None:
    scenes = [
        build(small_cell({"coverage": 0.5}, **names))
        for names in ({}, {"defense": "texthide"}, {"attack": "small-asks"}, {"encoder": "toy:dim=4"})
    ]
    private = [tuple(scene.truth.private.texts) for scene in scenes]
    assert len(private[0]) == len(set(private[0])) == 8
    assert len(set(private)) == 1
    assert tuple(build(small_cell(seed=1)).truth.private.texts) not in private


def test_vectors_and_labels_belong_to_their_texts() -> None:
    cell = small_cell(dataset="small:copies=2")
    truth = build(cell).truth
    encode = cell.encoder.plugin.encode
    assert np.array_equal(truth.vectors, encode(truth.private.texts))
    assert np.array_equal(truth.corpus.vectors, encode(truth.corpus.texts))
    data = cell.dataset.plugin.load("train")
    label = dict(zip(data.texts[:30], data.labels[:30], strict=True))
    assert [label[text] for text in truth.private.texts] == list(truth.private.labels)
    once = [i for i, text in enumerate(truth.corpus.texts) if text != data.texts[0]]
    assert [label[truth.corpus.texts[i]] for i in once] == list(truth.labels[once])


def test_salt_changes_who_is_private_and_how_they_are_released() -> None:
    cell = small_cell({"coverage": 1.0}, defense="texthide:k=2,m=4")
    plain, again, one, same, two = (build(cell, salt) for salt in (None, None, "one", "one", "two"))
    for first, second in ((plain, again), (one, same)):
        assert first.truth.private.texts == second.truth.private.texts
        assert np.array_equal(first.release.encodings, second.release.encodings)
    assert len({tuple(scene.truth.private.texts) for scene in (plain, one, two)}) == 3
    whole = small_cell({"coverage": 1.0, "examples": 30}, defense="texthide:k=2,m=4")
    pools = [build(whole, salt).truth.key.pool for salt in (None, "one", "two")]
    assert not any(np.array_equal(a, b) for a, b in zip(pools, [*pools[1:], pools[0]], strict=True))


def test_every_epoch_is_released() -> None:
    scene = build(small_cell({"epochs": 3}))
    assert scene.release.encodings.shape == (24, 8)
    assert list(np.bincount(scene.truth.key.owner)) == [3] * 8


def test_a_public_corpus_is_the_public_split_of_the_set_that_the_data_names() -> None:
    public = build(small_cell(attack="small-reads")).public
    assert public is not None
    assert public.texts == [f"public {i}" for i in range(5)]
    assert public.vectors.shape == (5, 8)
    assert build(small_cell()).public is None


@pytest.mark.parametrize(
    ("fails", "said"), [("nan", "NaN or infinite values"), ("short", r"encodings \(7, 8\) .* for a key of 8 items")]
)
def test_a_release_that_does_not_fit_its_key_is_refused(fails: str, said: str) -> None:
    with pytest.raises(BenchError, match=f"defense 'small-plain' released {said}"):
        build(small_cell(defense=f"small-plain:fails={fails}"))


def test_the_oracle_answers_in_the_order_of_the_question_under_the_victims_masks() -> None:
    asked = rng().standard_normal((50, 8)).astype(np.float32)
    assert np.array_equal(build(small_cell(defense="none")).oracle(asked), asked)
    scene = build(small_cell(defense="texthide:k=1,m=3"))
    pool = scene.truth.key.pool
    assert pool is not None
    signs = scene.oracle(asked) / asked
    used = {tuple(row) for row in np.round(signs).astype(int)}
    assert used == {tuple(row) for row in pool.astype(int)}
    assert not np.array_equal(scene.oracle(asked) / asked, signs)  # fresh masks for every question


def test_the_oracle_of_one_time_masks_draws_new_ones() -> None:
    scene = build(small_cell(defense="texthide:k=1,m=inf"))
    asked = np.ones((6, 8), dtype=np.float32)
    found = scene.oracle(asked)
    assert np.array_equal(np.abs(found), asked)
    assert len({tuple(row) for row in found}) > 1


@pytest.mark.parametrize("asked", [np.full((2, 8), np.nan), np.ones(8)])
def test_the_oracle_refuses_what_are_no_vectors(asked: np.ndarray) -> None:
    with pytest.raises(DataError, match="the attack's oracle question gave"):
        build(small_cell()).oracle(asked)


def test_preparing_a_trial_encodes_all_that_training_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    cell = small_cell(defense="small-lends")
    kind = type(cell.encoder.plugin)
    honest = kind.encode
    monkeypatch.setattr(kind, "encode", lambda self, texts, **k: encoded.extend(texts) or honest(self, texts, **k))
    trial = replace(cell, encoder=replace(cell.encoder, plugin=kind(dim=5)))
    setup.prepare(trial, "cpu", lambda text: None)
    data = cell.dataset.plugin
    wanted = [text for split in ("train", "dev", "public") for text in data.load(split).texts]
    assert sorted(encoded) == sorted(wanted)
