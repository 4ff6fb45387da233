"""Texts as a guess: inside the corpus or outside, on their way between processes, and refused ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from bench import Corpus, Examples, Guess, Key
from bench.scoring.kinds import Expected, get
from bench.scoring.kinds import ranking as rankings
from bench.scoring.kinds.texts import score
from bench.scoring.similarity import Similarity
from bench.scoring.truth import Truth

TEXTS = ["the cat sat", "a dog ran", "birds sing", "fish swim"]


def embed(texts: Any) -> np.ndarray:
    return np.eye(26, dtype=np.float32)[[ord(text[0]) % 26 if text else 0 for text in texts]]


def truth() -> Truth:
    vectors = np.eye(4, dtype=np.float32)
    members = np.array([[0, 1], [1, 2], [2, 0]])
    key = Key(members[:, 0], members, np.full((3, 2), 0.5, np.float32))
    private = Examples(TEXTS[:3], [0, 1, 0], ("no", "yes"))
    return Truth(private, vectors[:3], key, Corpus(TEXTS, vectors), np.array([0, 1, 0, 1]))


def scored(texts: list[str], **kwargs: Any) -> Any:
    return score(Guess(texts=texts, **kwargs), truth(), Similarity(TEXTS, embed), np.random.default_rng(0))


def test_texts_of_the_corpus_score_as_the_ranking_that_names_them() -> None:
    named = [0, 2, 3]
    ranking = Guess(ranking=np.array(named)[:, None])
    expected = rankings.score(ranking, truth(), Similarity(TEXTS, embed), np.random.default_rng(0))
    found = scored([TEXTS[row] for row in named])
    assert found.metrics == expected.metrics
    assert found.leak == expected.leak == "recall"
    assert found.metrics["identity"]["value"] == pytest.approx(1 / 3)
    assert found.metrics["hit"]["value"] == pytest.approx(2 / 3)
    assert found.metrics["recall"]["value"] == pytest.approx(1 / 3)  # one answer can name one of the two


def test_a_text_outside_the_corpus_is_judged_by_its_words() -> None:
    found = scored(["the cat sat down", "A dog ran", ""]).items
    assert found["answer"] == ["the cat sat down", "A dog ran", ""]
    assert found["jaccard"] == pytest.approx([3 / 4, 1, 0])
    # Nearly the text is not the text, and a text that is in no corpus has no label.
    assert found["identity"].tolist() == found["hit"].tolist() == found["label"].tolist() == [0, 0, 0]


def test_confidence_is_judged_too() -> None:
    assert "confidence_auc" not in scored(TEXTS[:3]).facts
    assert scored(TEXTS[:3], confidence=np.array([3, 2, 1])).items["confidence"].tolist() == [3, 2, 1]


def test_texts_travel_as_json() -> None:
    kind, texts = get("texts"), ["naïve\tcafé", "", "two\nlines"]
    facts, arrays = kind.pack(Guess(texts=tuple(texts)))
    assert arrays == {}
    assert kind.unpack(json.loads(json.dumps(facts)), {}) == texts
    assert kind.unpack({}, {}) is None


@pytest.mark.parametrize("texts", ["one string", ["a", 1], {"a": "b"}, [["a"]], 7])
def test_what_is_no_list_of_strings_is_refused(texts: Any) -> None:
    with pytest.raises(ValueError, match="not a list of strings"):
        get("texts").unpack({"texts": texts}, {})


def test_a_text_for_each_item_is_expected() -> None:
    kind, expected = get("texts"), Expected.of(truth())
    assert kind.check(Guess(texts=TEXTS[:3]), expected) is None
    assert kind.check(Guess(texts=TEXTS), expected) == "4 texts were guessed for 3 released items"
    assert kind.check(Guess(texts=[]), expected) == "0 texts were guessed for 3 released items"
    assert kind.describe(Guess(texts=TEXTS)) == "4 texts"


def test_agreement_is_of_the_same_item_wherever_it_stands() -> None:
    kind, order = get("texts"), np.array([2, 0, 1])
    assert kind.agreement(Guess(texts=["a", "b", "c"]), Guess(texts=["c", "a", "b"]), order, 1) == 1
    assert kind.agreement(Guess(texts=["a", "b", "c"]), Guess(texts=["c", "a", "x"]), order, 1) == pytest.approx(2 / 3)
    assert kind.agreement(Guess(texts=["a", "b", "c"]), Guess(texts=["a", "b", "c"]), order, 1) == 0
