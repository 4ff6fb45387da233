"""Sentences and words read out of updates, against those that are in the batch."""

from __future__ import annotations

import numpy as np
import pytest

from bench import Examples, Key, Reading, Readings
from bench.scoring import kinds, packing
from bench.scoring.kinds.base import Expected
from bench.scoring.kinds.readings import rouge
from bench.scoring.truth import Batches, UpdateTruth
from bench.toolkit.corpus import Corpus

WORDS = ["[CLS]", "[SEP]", "the", "cat", "dog", "sings", "sleeps", "and", "not", "a"]


def tokenize(texts: list[str]) -> list[list[int]]:
    return [[0, *(WORDS.index(word) for word in text.split()), 1] for text in texts]


def decode(ids: list[int]) -> str:
    return " ".join(WORDS[i] for i in ids)


def truth(*texts: str, size: int = 2, strangers: tuple[str, ...] = ()) -> UpdateTruth:
    n = len(texts)
    private = Examples(list(texts), [0] * n, ("no", "yes"))
    key = Key(np.arange(n), np.arange(n)[:, None], np.ones((n, 1), np.float32))
    corpus = Corpus([*texts, "the dog and the cat", "a cat", "a dog sings not"], np.zeros((n + 3, 0), np.float32))
    public = [tokenize(list(strangers))] * (n // size)
    batches = Batches(size, tokenize(list(texts)), public, frozenset([0, 1]), tokenize, decode)
    return UpdateTruth(private, np.zeros((n, 4), np.float32), key, corpus, np.zeros(n + 3), batches)


def scored(found: UpdateTruth, *readings: Reading) -> dict[str, float]:
    guess = Readings(readings=readings)
    scores = kinds.kind_of(guess).score(guess, found, None, np.random.default_rng(0))
    assert set(scores.metrics) == {row for row in scores.metrics if row in scores.items}
    return {name: metric["value"] for name, metric in scores.metrics.items()}


def test_all_of_it_in_another_order() -> None:
    found = truth("the cat sings", "a dog sleeps")
    values = scored(found, Reading([tokenize(["a dog sleeps"])[0], "the cat sings"], certified=True))
    assert values.pop("false") == 0
    assert set(values.values()) == {1.0}


def test_what_is_missing_is_empty_and_what_is_invented_counts_against() -> None:
    found = truth("the cat sings", "a dog sleeps")
    values = scored(found, Reading(["the cat sings", "not not not"]))
    assert (values["exact"], values["false"], values["certified"]) == (0.5, 0.5, 0.0)
    assert values["token_f1"] == values["rouge1"] == 0.5
    assert values["tokens"] == 0.5
    assert values["precision"] == 0.75
    nothing = scored(found, Reading())
    assert (nothing["exact"], nothing["false"], nothing["tokens"], nothing["precision"]) == (0, 0, 0, 1)


def test_the_same_words_in_another_order_are_not_exact() -> None:
    values = scored(truth("the cat sings", "the dog and a cat"), Reading(["sings cat the", "the dog and a cat"]))
    assert (values["exact"], values["token_f1"]) == (0.5, 1.0)
    assert values["rougeL"] == pytest.approx((1 + 1 / 3) / 2)


def test_a_sentence_named_twice_counts_once() -> None:
    values = scored(truth("the cat sings", "a dog sleeps"), Reading(["the cat sings", "the cat sings"]))
    assert (values["exact"], values["false"]) == (0.5, 0.5)


def test_words_may_be_listed_without_sentences() -> None:
    found = truth("the cat", "a dog")
    values = scored(found, Reading(tokens=[0, 1, 2, 3, 4, 8]))
    assert (values["tokens"], values["precision"], values["exact"]) == (0.75, 0.75, 0.0)


def test_public_sentences_of_an_update_are_no_inventions() -> None:
    found = truth("the cat", "a dog", strangers=("not a dog sings",))
    values = scored(found, Reading(["the cat", "not a dog sings"]))
    assert (values["exact"], values["false"], values["precision"]) == (0.5, 0.0, 1.0)


def test_batches_are_kept_apart() -> None:
    found = truth("the cat", "a dog", "a cat sings", "the dog")
    values = scored(found, Reading(["a cat sings", "the dog"]), Reading(["the cat", "a dog"]))
    assert values["exact"] == 0


@pytest.mark.parametrize(
    ("wanted", "answer", "expected"),
    [
        ("the cat sings", "the cat sings", (1, 1, 1)),
        ("the cat sings", "", (0, 0, 0)),
        ("The cat, it sings.", "it sings the cat", (1, 2 / 3, 0.5)),
        ("a b c d", "a c b d", (1, 0, 0.75)),
    ],
)
def test_rouge(wanted: str, answer: str, expected: tuple[float, float, float]) -> None:
    assert rouge(wanted, answer) == pytest.approx(expected)


def test_rouge_is_that_of_the_package() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rouge1", "rouge2", "rougeL"])
    rng = np.random.default_rng(0)
    for _ in range(50):
        one, two = (" ".join(rng.choice(WORDS[2:], rng.integers(1, 9))) for _ in range(2))
        theirs = scorer.score(one, two)
        assert rouge(one, two) == pytest.approx([theirs[name].fmeasure for name in ("rouge1", "rouge2", "rougeL")])


def test_the_way_to_another_process() -> None:
    guess = Readings(readings=[Reading([[0, 2, 1], "the cat"], [2, 3], True), Reading([])], details={"n": 1})
    facts, arrays = packing.pack(guess)
    again, wrong = packing.read(facts, arrays)
    assert wrong == ""
    assert again == guess


@pytest.mark.parametrize(
    "readings",
    [
        "no list",
        [{"tokens": [1]}],
        [{"sentences": [[1, -2]]}],
        [{"sentences": [[1, 2.5]]}],
        [{"sentences": [[1] * 3000]}],
        [{"sentences": [], "tokens": "all"}],
    ],
)
def test_hostile_readings(readings: object) -> None:
    guess, wrong = packing.read({"readings": readings}, {})
    assert guess is None
    assert wrong


def test_a_guess_must_fit() -> None:
    kind, expected = kinds.get("readings"), Expected.of(truth("the cat", "a dog", "a cat", "the dog"))
    assert kind.check(Readings(readings=[Reading()] * 2), expected) is None
    assert kind.check(Readings(readings=[Reading()]), expected) == "1 readings were given of 2 updates"
    many = Readings(readings=[Reading(["a", "a", "a"]), Reading()])
    assert kind.check(many, expected) == "3 sentences were named in a batch of 2"
    assert "see updates" in str(kind.check(many, Expected("text", 4, 1, 4, 4)))
