"""Free text, against the sentences that it was written from."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench import Examples, Guess, Key, Written
from bench.scoring import kinds, packing
from bench.scoring.kinds.base import Expected
from bench.scoring.kinds.written import bleu, matched, named_share, words_of
from bench.scoring.truth import Truth
from bench.toolkit.corpus import Corpus


class Alike:
    """A similarity of sentences that is their being equal."""

    def pairs(self, truth: Truth, examples: Any, answer: Any, rows: Any) -> Any:
        same = [truth.private.texts[i] == text for i, text in zip(examples, answer, strict=True)]
        return SimpleNamespace(sbert=lambda: np.array(same, dtype=float))


def truth(*texts: str, epochs: int = 1) -> Truth:
    n = len(texts)
    owner = np.tile(np.arange(n), epochs)
    key = Key(owner, owner[:, None], np.ones((n * epochs, 1), np.float32))
    corpus = Corpus([*texts, "nobody knows why", "it rains"], np.zeros((n + 2, 4), np.float32))
    return Truth(
        Examples(list(texts), [0] * n, ("no", "yes")), np.zeros((n, 4), np.float32), key, corpus, np.zeros(n + 2)
    )


def scored(found: Truth, *texts: str, ordered: bool = True) -> dict[str, dict[str, float]]:
    guess = Written(written=list(texts), ordered=ordered)
    return kinds.kind_of(guess).score(guess, found, Alike(), np.random.default_rng(0), named=False).metrics  # type: ignore[arg-type]


def test_case_and_spacing_do_not_count() -> None:
    metrics = scored(truth("Don't go, John.", "It is 7 o'clock"), "don ' t go , john .", "it is 8 o'clock")
    assert metrics["exact"]["value"] == 0.5
    assert metrics["token_f1"]["value"] == pytest.approx((1 + 10 / 12) / 2)
    assert metrics["named"]["value"] == 0.5  # John was found, 7 was not
    assert metrics["rouge1"]["value"] > 0.8
    assert 0 < metrics["bleu"]["value"] < 1


def test_the_random_level_knows_no_private_sentence() -> None:
    metrics = scored(truth("the cat sings", "a dog sleeps"), "the cat sings", "a dog sleeps")
    assert metrics["exact"]["value"] == metrics["token_f1"]["value"] == metrics["sbert"]["value"] == 1
    assert metrics["exact"]["random"] == 0
    assert metrics["token_f1"]["random"] == 0


def test_texts_in_any_order_are_matched_one_to_one() -> None:
    found = truth("the cat sings", "a dog sleeps", epochs=3)
    metrics = scored(found, "a dog sleeps", "the cat sings", "the cat sings", ordered=False)
    assert metrics["exact"]["value"] == 1
    fewer = scored(found, "the cat sings", ordered=False)
    assert fewer["exact"]["value"] == fewer["token_f1"]["value"] == fewer["sbert"]["value"] == 0.5
    assert matched(["a b", "c d"], ["c d e", "x"]) == ["x", "c d e"]


def test_only_short_sentences_count_as_short() -> None:
    long = " ".join(["word"] * 13)
    metrics = scored(truth(long, "a dog"), long, "a cat")
    assert metrics["exact"]["value"] == 0.5
    assert metrics["exact_short"]["value"] == 0


def test_bleu() -> None:
    words = words_of("the cat sat on the mat")
    assert bleu(words, words) == pytest.approx(1)
    assert bleu(words, words_of("dogs bark")) == 0
    # 2 of 2 words, (1 + 1)/(1 + 1) pairs, nothing longer; four words too short.
    assert bleu(words, words[:2]) == pytest.approx(math.exp(1 - 6 / 2))
    assert bleu([], []) == 1
    assert bleu(words, []) == 0


def test_names_and_numbers() -> None:
    assert named_share("Yesterday Mary paid 30 euros", "mary had 30") == 1
    assert named_share("Yesterday Mary paid 30 euros", "yesterday") == 0
    assert math.isnan(named_share("Nothing to name here", "nothing"))


def test_it_travels_and_is_checked() -> None:
    guess = Written(written=["a", "b"], ordered=False, details={"x": 1})
    back, wrong = packing.read(*packing.pack(guess))
    assert not wrong
    assert isinstance(back, Written)
    assert (list(back.written), back.ordered, back.given) == (["a", "b"], False, ("written",))
    kind, expected = kinds.get("written"), Expected("text", 3, 1, 5, 4)
    assert kind.check(guess, expected) is None
    assert "2 texts were written for 3" in str(kind.check(Written(written=["a", "b"]), expected))
    assert "at least one" in str(kind.check(Written(written=[], ordered=False), expected))
    assert "letters" in str(kind.check(Written(written=["a" * 20_000], ordered=False), expected))
    assert kind.agreement(guess, Written(written=["b", "a"], ordered=False), np.arange(2), 1) == 1
    assert kind.agreement(Written(written=["a", "b"]), Written(written=["b", "b"]), np.array([1, 0]), 1) == 0.5


def test_what_is_no_text_is_refused() -> None:
    assert "list of strings" in packing.read({"written": [1]}, {})[1]
    assert "not both" in packing.read({"written": ["a"], "readings": []}, {})[1]
    assert isinstance(packing.read({"texts": ["a"]}, {})[0], Guess)
