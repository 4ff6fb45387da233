"""Sentences and words read out of updates, batch by batch.

The sentences of a batch have no order: those named are matched one to one with those that are in it. What is missing
counts as empty, and what was invented counts against the attack.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import types
from bench.arrays import Ints
from bench.scoring.intervals import mean_interval
from bench.scoring.kinds.base import Arrays, Expected, Facts, Kind, Scores, Values, combined, item_table, random_level
from bench.scoring.metrics.free_text import BatchReading, Recovered
from bench.scoring.table import METRICS
from bench.scoring.truth import Batches, UpdateTruth
from bench.types import Guess, Reading

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity

SENTENCES, WHOLE = "recovered", "batches"
# Attackers who name sentences of the corpus, for the random level.
BLIND = 10
# Tokens of a sentence, and different tokens of a batch, that are taken.
LONGEST, MOST = 2_000, 200_000
_WORD = re.compile(r"[a-z0-9]+")

Tokens = list[int]


def score(
    guess: types.Readings, truth: UpdateTruth, similarity: Similarity, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    rng, chance = rng.spawn(2)
    batches, n = truth.batches, len(truth.private)
    values, answers = _measured(_in_tokens(guess.readings, batches), batches)
    # The sentences of a batch stand and fall together, but they are many; what is said of a batch is one number.
    unit = np.arange(n) // batches.size
    metrics: dict[str, dict[str, float]] = {}
    for row in METRICS.of(SENTENCES, WHOLE):
        example = unit if row.of == WHOLE else np.arange(n)
        mean, low, high = mean_interval(values[row.name], example, rng)
        metrics[row.name] = {"value": mean, "low": low, "high": high}
    blind: dict[str, list[float]] = {name: [] for name in values}
    corpus = _by_length(truth)
    for _ in range(BLIND):
        drawn, _ = _measured(_drawn(corpus, batches, chance), batches)
        for name, each in drawn.items():
            blind[name].append(float(each.mean()))
    said = [row.name for row in METRICS.of(SENTENCES, WHOLE) if row.name not in ("false", "certified")]
    level = random_level({name: blind[name] for name in said})
    items = item_table(truth, np.arange(n), answers, values)
    facts = {"updates": len(batches), "tokens_in_an_update": _mean_size(batches)}
    return Scores(combined(metrics, level), items, facts, np.arange(n), METRICS.leak_of(SENTENCES))


class Readings(Kind):
    name = "readings"
    of_updates = True
    bases = (SENTENCES, WHOLE)
    score = staticmethod(score)

    def pack(self, guess: Guess) -> tuple[Facts, Arrays]:
        assert isinstance(guess, types.Readings)
        return {"readings": [_plain(reading) for reading in guess.readings]}, {}

    def unpack(self, facts: Facts, arrays: Arrays) -> Any:
        found = facts.get("readings")
        if found is None:
            return None
        if not isinstance(found, list):
            raise ValueError("the readings of its guess are not a list")
        return [_reading(one) for one in found]

    def check(self, guess: Guess, expected: Expected) -> str | None:
        assert isinstance(guess, types.Readings)
        if not expected.batch:
            return "a guess of readings is for attacks that see updates"
        wanted = expected.items // expected.batch
        if len(guess.readings) != wanted:
            return f"{len(guess.readings)} readings were given of {wanted} updates"
        most = max((len(reading.sentences) for reading in guess.readings), default=0)
        return None if most <= expected.batch else f"{most} sentences were named in a batch of {expected.batch}"

    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        assert isinstance(first, types.Readings)
        assert isinstance(other, types.Readings)
        pairs = zip(first.readings, other.readings, strict=True)
        return float(np.mean([_plain(one) == _plain(two) for one, two in pairs]))

    def describe(self, guess: Guess) -> str:
        assert isinstance(guess, types.Readings)
        return f"readings of {len(guess.readings)} updates"


def _plain(reading: Reading) -> dict[str, Any]:
    return {
        "sentences": [one if isinstance(one, str) else [int(i) for i in one] for one in reading.sentences],
        "tokens": None if reading.tokens is None else [int(i) for i in reading.tokens],
        "certified": bool(reading.certified),
    }


def _reading(found: Any) -> Reading:
    """Nothing is taken on trust."""
    if not isinstance(found, dict) or not isinstance(found.get("sentences"), list):
        raise ValueError("a reading of its guess has no list of sentences")
    for one in found["sentences"]:
        if not isinstance(one, str) and not _are_tokens(one, LONGEST):
            raise ValueError(f"a sentence of its guess is neither a text nor at most {LONGEST:,} token numbers")
    tokens = found.get("tokens")
    if tokens is not None and not _are_tokens(tokens, MOST):
        raise ValueError(f"the tokens of its guess are not at most {MOST:,} token numbers")
    return Reading(found["sentences"], tokens, found.get("certified") is True)


def _are_tokens(value: Any, most: int) -> bool:
    return isinstance(value, list) and len(value) <= most and all(type(i) is int and 0 <= i < 1 << 31 for i in value)


def _in_tokens(readings: Sequence[Reading], batches: Batches) -> list[Reading]:
    """The same with every sentence as token numbers; empty ones are none."""
    found = []
    for reading in readings:
        texts = [one for one in reading.sentences if isinstance(one, str) and one.strip()]
        told = iter(batches.tokenize(texts))
        sentences = [next(told) if isinstance(one, str) else list(one) for one in reading.sentences if _said(one)]
        found.append(Reading(sentences, reading.tokens, reading.certified))
    return found


def _said(sentence: Sequence[int] | str) -> bool:
    return bool(sentence.strip() if isinstance(sentence, str) else len(sentence))


def _measured(readings: Sequence[Reading], batches: Batches) -> tuple[dict[str, Values], list[str]]:
    """Every metric of each private sentence; those of a batch stand with each of its sentences. And the answers."""
    n = len(batches.tokens)
    matched: list[Tokens] = [[] for _ in range(n)]
    shared = np.zeros(n)
    for number, reading in enumerate(readings):
        first = number * batches.size
        true = batches.tokens[first : first + batches.size]
        for mine, guess, f1 in _matching(true, [list(map(int, one)) for one in reading.sentences], batches.special):
            matched[first + mine], shared[first + mine] = guess, f1
    same = np.array([one == two for one, two in zip(matched, batches.tokens, strict=True)])
    texts = [batches.decode(_plainly(one, batches.special)) if one else "" for one in matched]
    wanted = [batches.decode(_plainly(one, batches.special)) for one in batches.tokens]
    words = np.array([rouge(one, two) for one, two in zip(wanted, texts, strict=True)])
    values = {row.name: row.function(Recovered(same, shared, words)) for row in METRICS.of(SENTENCES)}
    whole = _whole(readings, batches)
    values |= {row.name: np.repeat(row.function(whole), batches.size) for row in METRICS.of(WHOLE)}
    return values, texts


def _whole(readings: Sequence[Reading], batches: Batches) -> BatchReading:
    rows = []
    for number, reading in enumerate(readings):
        mine = batches.tokens[number * batches.size : (number + 1) * batches.size]
        inside = Counter(map(tuple, mine))
        strangers = {tuple(one) for one in batches.strangers[number]}
        guessed = Counter(tuple(map(int, one)) for one in reading.sentences)
        # A sentence counts as often as it is in the batch; public ones that were mixed in are no invention.
        right = sum(count if one in strangers else min(count, inside[one]) for one, count in guessed.items())
        private = {token for one in mine for token in one} - batches.special
        all_of_it = private | {token for one in strangers for token in one}
        listed = reading.tokens if reading.tokens is not None else [t for one in reading.sentences for t in one]
        named = {int(token) for token in listed} - batches.special
        found = len(named & private) / len(private) if private else 1.0
        true = len(named & all_of_it) / len(named) if named else 1.0
        rows.append((sum(guessed.values()), right, found, true, reading.certified))
    named_, right_, found_, true_, certified = (np.array(column) for column in zip(*rows, strict=True))
    return BatchReading(named_, right_, found_, true_, certified)


def _matching(true: list[Tokens], guessed: list[Tokens], special: frozenset[int]) -> list[tuple[int, Tokens, float]]:
    """Pairs of a one-to-one matching: place in the batch, the sentence named for it, F1 of their tokens."""
    from scipy.optimize import linear_sum_assignment

    if not guessed:
        return []
    bags = [_plainly(one, special) for one in (*true, *guessed)]
    number = {token: at for at, token in enumerate(sorted({token for bag in bags for token in bag}))}
    counts = np.zeros((len(bags), len(number)), np.int16)
    for row, bag in enumerate(bags):
        for token in bag:
            counts[row, number[token]] += 1
    mine, theirs = counts[: len(true)], counts[len(true) :]
    common = np.stack([np.minimum(one, theirs).sum(axis=1) for one in mine])
    f1 = 2 * common / np.maximum(mine.sum(axis=1)[:, None] + theirs.sum(axis=1)[None, :], 1)
    exact = np.array([[one == other for other in guessed] for one in true])
    # Of two sentences with the same words, the one in the same order.
    pairs = zip(*linear_sum_assignment(f1 + exact, maximize=True), strict=True)
    return [(int(i), guessed[j], float(f1[i, j])) for i, j in pairs]


def _plainly(tokens: Sequence[int], special: frozenset[int]) -> Tokens:
    return [int(token) for token in tokens if int(token) not in special]


def rouge(wanted: str, answer: str) -> tuple[float, float, float]:
    """ROUGE-1, ROUGE-2 and ROUGE-L, each as F1, of lower-case words of letters and digits, not stemmed."""
    one, two = _WORD.findall(wanted.lower()), _WORD.findall(answer.lower())
    found = []
    for size in (1, 2):
        mine, theirs = (Counter(zip(*(words[at:] for at in range(size)), strict=False)) for words in (one, two))
        found.append(_f1((mine & theirs).total(), mine.total(), theirs.total()))
    return found[0], found[1], _f1(_common_subsequence(one, two), len(one), len(two))


def _f1(common: int, one: int, two: int) -> float:
    return 2 * common / (one + two) if common else 0.0


def _common_subsequence(one: list[str], two: list[str]) -> int:
    """Length of the longest, a row of the table at a time."""
    numbers = {word: at for at, word in enumerate(dict.fromkeys(two))}
    other = np.array([numbers[word] for word in two], dtype=np.int64)
    best = np.zeros(len(two) + 1, dtype=np.int64)
    for word in one:
        taken = best[:-1] + (other == numbers.get(word, -1))
        best[1:] = np.maximum.accumulate(np.maximum(best[1:], taken))
    return int(best[-1])


def _by_length(truth: UpdateTruth) -> Mapping[int, list[Tokens]]:
    """Sentences of the corpus by their number of tokens; a few thousand are enough to draw from."""
    texts = truth.corpus.texts
    step = max(1, len(texts) // 5_000)
    found: dict[int, list[Tokens]] = {}
    for tokens in truth.batches.tokenize(texts[::step]):
        found.setdefault(len(tokens), []).append(tokens)
    return found


def _drawn(corpus: Mapping[int, list[Tokens]], batches: Batches, rng: np.random.Generator) -> list[Reading]:
    """A blind attacker's sentences: of the corpus, as long as those of each batch."""
    lengths = np.array(sorted(corpus))
    chosen = []
    for tokens in batches.tokens:
        some = corpus[int(lengths[np.abs(lengths - len(tokens)).argmin()])]
        chosen.append(some[rng.integers(len(some))])
    return [Reading(chosen[at : at + batches.size]) for at in range(0, len(chosen), batches.size)]


def _mean_size(batches: Batches) -> float:
    return sum(map(len, batches.tokens)) / len(batches)
