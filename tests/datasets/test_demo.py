"""The demo dataset: both labels follow from construction, and every machine writes the same sentences."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from bench.datasets.demo import SIZES, Demo, fingerprint, sentences
from bench.datasets.demo.faults import Phrase, corrupt, faults_in, spell
from bench.datasets.demo.grammar import Grammar
from bench.datasets.demo.topics import TOPICS
from bench.datasets.demo.verbs import NounPhrase
from bench.datasets.demo.words import CASES, an, comparative, forms, plural

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = [row for split in SIZES for row in sentences(split)]
TEXTS = [text for text, _, _ in EVERYTHING]
ACCEPTABLE = [text for text, acceptable, _ in EVERYTHING if acceptable]
WORDS = [re.findall(r"[\w'-]+", text.lower()) for text in TEXTS]

# Published numbers depend on these sentences. If a change here is meant, put the new value of fingerprint().
FINGERPRINT = "5ad2278b6cf18809105754ea32167787b9b19c686fd16fe7657b34ae0fc509b2"


def test_redrawn_it_is_other_sentences_of_the_same_kind() -> None:
    """For sealed runs: an attack could bring along the sentences that everybody has."""
    other, again, third = Demo().redrawn("ab"), Demo().redrawn("ab"), Demo().redrawn("cd")
    texts = other.load("train").texts
    assert texts == again.load("train").texts
    assert len(texts) == SIZES["train"]
    for known in (EVERYTHING, sentences("train", 1)):
        assert len(set(texts) & {row[0] for row in known}) < 10
    assert len(set(texts) & set(third.load("train").texts)) < 10
    assert not set(texts) & set(other.load("public").texts)
    assert 0.60 <= other.load("train").labels.mean() <= 0.75
    assert 0.40 <= Demo("sentiment").redrawn("ab").load("train").labels.mean() <= 0.60
    assert fingerprint() == FINGERPRINT


@pytest.mark.parametrize(("split", "least"), [("train", 4500), ("dev", 800), ("public", 1200)])
def test_sizes_and_label_balance(split: str, least: int) -> None:
    rows = sentences(split)
    assert len(rows) == SIZES[split] >= least
    assert 0.60 <= sum(row[1] for row in rows) / len(rows) <= 0.75
    assert 0.40 <= sum(row[2] for row in rows) / len(rows) <= 0.60
    unacceptable = [row[2] for row in rows if not row[1]]
    assert 0.40 <= sum(unacceptable) / len(unacceptable) <= 0.60, "the two labels must be independent"


def test_no_text_occurs_twice() -> None:
    assert len({text.lower() for text in TEXTS}) == len(TEXTS) >= 6000


def test_every_text_is_one_written_sentence() -> None:
    for text in TEXTS:
        assert 4 <= len(text.split()) <= 30
        assert text[0].isupper()
        assert re.fullmatch(r"[^.?!]+[.?!]", text), text
        assert "  " not in text
        assert " ," not in text
        assert text.isascii()


def test_the_same_everywhere() -> None:
    assert fingerprint() == FINGERPRINT
    command = "from bench.datasets.demo import fingerprint; print(fingerprint())"
    for hashseed in ("1", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": hashseed}
        done = subprocess.run(
            [sys.executable, "-c", command], cwd=ROOT, env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == FINGERPRINT


def test_load_gives_the_chosen_label() -> None:
    rows = sentences("dev")
    default, sentiment = Demo().load("dev"), Demo(label="sentiment").load("dev")
    assert default.classes == ("unacceptable", "acceptable")
    assert sentiment.classes == ("negative", "positive")
    assert default.texts == sentiment.texts == [row[0] for row in rows]
    assert list(default.labels) == [row[1] for row in rows]
    assert list(sentiment.labels) == [row[2] for row in rows]
    with pytest.raises(FrozenInstanceError):
        Demo().label = "sentiment"  # type: ignore[misc]


def test_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'test'.*train, dev, public"):
        Demo().load("test")


def test_varied_in_words_and_in_build() -> None:
    vocabulary = Counter(word for words in WORDS for word in words)
    assert len(vocabulary) >= 2000
    function = {word for word, _ in vocabulary.most_common(120)}
    builds = Counter(" ".join(word if word in function else "_" for word in words) for words in WORDS)
    assert builds.most_common(1)[0][1] < 0.01 * len(TEXTS)
    assert len(builds) > 0.7 * len(TEXTS)
    rng, bags = random.Random(0), [frozenset(words) for words in WORDS]
    pairs = [(rng.choice(bags), rng.choice(bags)) for _ in range(5000)]
    assert sum(len(a & b) / len(a | b) for a, b in pairs) / len(pairs) < 0.08


def test_few_sentences_have_a_near_twin() -> None:
    bags = [frozenset(words) for words in WORDS]
    twins = 0
    for bag in random.Random(1).sample(bags, 150):
        twins += any(bag is not other and len(bag & other) > 0.8 * len(bag | other) for other in bags)
    assert twins <= 3


def test_acceptable_articles_and_agreement() -> None:
    text = "\n".join(ACCEPTABLE)
    assert not re.search(r"\b[Aa] (?!use|one-)[aeiou]", text)
    assert not re.search(r"\b[Aa]n (?!honest)[^aeiouAEIOU]", text)
    assert not re.search(r"\b(he|she|it) (are|were|have|do|don't)\b", text, re.IGNORECASE)
    assert not re.search(r"\b(they|we) (is|was|has|does|doesn't)\b", text, re.IGNORECASE)
    assert not re.search(r"\b(the (my|a|this|that|these|those)|my the|every the)\b", text, re.IGNORECASE)
    assert not re.search(r"\b(did|didn't|did not|will|won't) \w+ed the\b", text)
    assert not re.search(r"\b(\w+) \1\b", text.replace("that that", "that"))


def test_an_error_always_shows() -> None:
    grammar, sound, broken, kinds = Grammar(3), set(), set(), set()
    for turn in range(1500):
        phrase = grammar.sentence(turn % 2)
        text = spell(phrase)
        sound.add(text)
        faults = faults_in(phrase)
        assert faults, f"nothing to get wrong in {text!r}"
        for kind, where, instead in faults:
            kinds.add(kind)
            broken.add(spell(phrase, where, instead))
            assert spell(phrase, where, instead) != text, f"{kind} does not show in {text!r}"
        wrong, kind = corrupt(phrase, grammar.pick)
        assert wrong != text
        assert wrong in broken
    assert not sound & broken, "an error that makes another sound sentence is none"
    assert len(kinds) >= 20


def test_a_fault_replaces_one_phrase_only() -> None:
    verb = Phrase("enjoys", faults=(("agreement", "enjoy"),))
    phrase = Phrase("every chef", verb, "a", "old recipe")
    assert spell(phrase) == "Every chef enjoys an old recipe."
    assert [kind for kind, _, _ in faults_in(phrase)] == ["agreement"]
    assert corrupt(phrase, lambda options: options[0]) == ("Every chef enjoy an old recipe.", "agreement")
    assert spell(phrase) == "Every chef enjoys an old recipe."


@pytest.mark.parametrize("mood", [0, 1])
def test_negation_flips_sentiment(mood: int) -> None:
    """Where the clause is negated its adjective comes from the other side, and only there."""
    grammar, seen = Grammar(8), Counter[bool]()
    for _ in range(400):
        grammar.start()
        text = spell(grammar.is_good(mood, 0))
        negated = bool(re.search(r"n't\b|\bnot\b|\bnever\b", text))
        side = grammar.topic.good if mood != negated else grammar.topic.bad
        assert any(re.search(rf"\b{adjective}\b", text) for adjective in side), text
        seen[negated] += 1
    assert min(seen[True], seen[False]) > 40


def test_nothing_and_nobody_negate_too() -> None:
    grammar = Grammar(9)
    for turn in range(300):
        grammar.start()
        text = spell(grammar.exists(turn % 2, 0))
        flipped = "nothing" in text
        side = grammar.topic.good if bool(turn % 2) != flipped else grammar.topic.bad
        assert any(adjective in text for adjective in side), text


def test_verb_groups() -> None:
    grammar = Grammar(0)
    she, they, i = (NounPhrase(who, who, who) for who in ("she", "they", "I"))
    assert spell(Phrase("she", grammar.predicate("enjoy", she, "present"))) == "She enjoys."
    assert spell(Phrase("they", grammar.predicate("enjoy", they, "present"))) == "They enjoy."
    assert spell(Phrase("I", grammar.predicate("be", i, "present"))) == "I am."
    assert spell(Phrase("they", grammar.predicate("write", they, "perfect", "never"))) == "They have never written."
    negated = spell(Phrase("she", grammar.predicate("wear", she, "past", "not")))
    assert negated in ("She did not wear.", "She didn't wear.")
    aux, main = grammar.finite("plan", she, "present", invert=True)
    assert spell(Phrase(aux, "she", main, "?")) == "Does she plan?"


def test_word_forms() -> None:
    assert forms("plan") == ("plan", "plans", "planned", "planned", "planning")
    assert forms("copy") == ("copy", "copies", "copied", "copied", "copying")
    assert forms("choose") == ("choose", "chooses", "chose", "chosen", "choosing")
    assert [plural(noun) for noun in ("pony", "bus", "scarf", "essay")] == [
        "ponies",
        "buses",
        "scarves",
        "essays",
    ]
    assert [an(word) for word in ("honest", "useless", "ugly", "Italian", "one-sided")] == [
        "an",
        "a",
        "an",
        "an",
        "a",
    ]
    assert comparative("tedious") == "more tedious"
    assert comparative("clean") == ""
    assert all(len(row) == 4 for row in CASES.values())


def test_no_adjective_is_on_both_sides() -> None:
    """Within a topic, an opinion word must say one thing; and a neutral word none."""
    for topic in TOPICS:
        assert not set(topic.good) & set(topic.bad)
        assert not set(topic.plain) & {*topic.good, *topic.bad}
        assert not set(topic.verbs) & {*topic.mend, *topic.spoil}
        assert not set(topic.mend) & set(topic.spoil)
