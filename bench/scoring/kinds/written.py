"""Free text written from encodings, for which no corpus is needed: a text for each item, or texts in any number and
order, which are matched one to one with the private sentences.

Words are compared without regard to case and spacing, which most encoders do not see.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import types
from bench.arrays import Ints
from bench.scoring.kinds.base import (
    Arrays,
    Expected,
    Facts,
    Kind,
    Scores,
    Values,
    combined,
    intervals,
    item_table,
    random_level,
)
from bench.scoring.kinds.readings import rouge
from bench.scoring.metrics.corpus import NOTHING
from bench.scoring.metrics.free_text import Writing
from bench.scoring.table import METRICS
from bench.scoring.truth import Truth
from bench.types import Guess

if TYPE_CHECKING:
    from bench.scoring.similarity import Similarity

BASIS = "written"
# Attackers who write random sentences, for the random level.
BLIND = 10
# More texts than private examples count for nothing; so many more are no guess, and matching them takes hours.
SURPLUS = 20
LETTERS = 10_000
_WORD = re.compile(r"\w+|[^\w\s]")
_NAMED = re.compile(r"\w+")


def score(
    guess: types.Written, truth: Truth, similarity: Similarity, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    rng, chance = rng.spawn(2)
    owner = truth.key.owner if guess.ordered else np.arange(len(truth.private))
    texts = list(guess.written)
    answers = texts if guess.ordered else matched(truth.private.texts, texts)
    values = _measured(truth, owner, answers, similarity)
    metrics = intervals(METRICS.of(BASIS), values, owner, rng)
    blind: dict[str, list[float]] = {name: [] for name in values}
    others = _others(truth)
    for _ in range(BLIND if others else 0):
        drawn = [others[i] for i in chance.integers(len(others), size=len(texts))]
        drawn = drawn if guess.ordered else matched(truth.private.texts, drawn)
        for name, each in _measured(truth, owner, drawn, similarity).items():
            if not np.isnan(each).all():
                blind[name].append(float(np.nanmean(each)))
    level = random_level({name: some for name, some in blind.items() if some})
    items = item_table(truth, owner, answers, values)
    return Scores(combined(metrics, level), items, {"written": len(texts)}, owner, METRICS.leak_of(BASIS))


class Written(Kind):
    name = BASIS
    bases = (BASIS,)
    score = staticmethod(score)

    def pack(self, guess: Guess) -> tuple[Facts, Arrays]:
        assert isinstance(guess, types.Written)
        return {BASIS: [str(text) for text in guess.written], "ordered": bool(guess.ordered)}, {}

    def unpack(self, facts: Facts, arrays: Arrays) -> Any:
        texts = facts.get(BASIS)
        if texts is not None and not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            raise ValueError("what was written in its guess is not a list of strings")
        return texts

    def check(self, guess: Guess, expected: Expected) -> str | None:
        assert isinstance(guess, types.Written)
        count = len(guess.written)
        if guess.ordered and count != expected.items:
            return f"{count} texts were written for {expected.items} released items"
        if not count or count > SURPLUS * expected.items:
            return f"{count} texts were written for {expected.items} released items; at least one was expected"
        longest = max(map(len, guess.written))
        return None if longest <= LETTERS else f"a text of {longest:,} letters was written; at most {LETTERS:,} fit"

    def agreement(self, first: Guess, other: Guess, order: Ints, width: int) -> float:
        assert isinstance(first, types.Written)
        assert isinstance(other, types.Written)
        if not first.ordered:
            both = (Counter(first.written) & Counter(other.written)).total()
            return both / max(len(first.written), len(other.written), 1)
        return float(np.mean([first.written[i] == text for i, text in zip(order, other.written, strict=True)]))

    def describe(self, guess: Guess) -> str:
        assert isinstance(guess, types.Written)
        return f"{len(guess.written)} texts{'' if guess.ordered else ' in any order'}"


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def bleu(wanted: Sequence[str], answer: Sequence[str], most: int = 4) -> float:
    """Sentence BLEU: n-grams up to four, one added to the counts of those longer than a word (Lin and Och 2004)."""
    if not wanted or not answer:
        return float(list(wanted) == list(answer))
    total = 0.0
    for size in range(1, most + 1):
        mine, theirs = (Counter(zip(*(words[at:] for at in range(size)), strict=False)) for words in (wanted, answer))
        common, smooth = (mine & theirs).total(), int(size > 1)
        if common + smooth == 0:
            return 0.0
        total += math.log((common + smooth) / (theirs.total() + smooth))
    return math.exp(total / most + min(0.0, 1 - len(wanted) / len(answer)))


def named_share(wanted: str, answer: str) -> float:
    """Share of the capitalised words, other than the first word, and of the numbers that the answer has; NaN without
    any."""
    words = _NAMED.findall(wanted)
    things = {w.lower() for at, w in enumerate(words) if w.isdigit() or (at > 0 and w[0].isupper() and len(w) > 1)}
    return len(things & set(_NAMED.findall(answer.lower()))) / len(things) if things else math.nan


def matched(wanted: Sequence[str], written: Sequence[str]) -> list[str]:
    """The text that each sentence is given by a one-to-one matching on the F1 of their words; "" without one."""
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import csr_matrix

    bags = [Counter(words_of(text)) for text in (*wanted, *written)]
    # The k-th occurrence of a word is a thing of its own: common words are then a product of 0/1 matrices.
    number: dict[tuple[str, int], int] = {}
    rows, columns = [], []
    for row, bag in enumerate(bags):
        for word, count in bag.items():
            for k in range(count):
                rows.append(row)
                columns.append(number.setdefault((word, k), len(number)))
    table = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(bags), max(1, len(number))))
    mine, theirs = table[: len(wanted)], table[len(wanted) :]
    sizes = np.asarray(mine.sum(axis=1)) + np.asarray(theirs.sum(axis=1)).T
    f1 = 2 * (mine @ theirs.T).toarray() / np.maximum(sizes, 1)
    found = [""] * len(wanted)
    for at, which in zip(*linear_sum_assignment(f1, maximize=True), strict=True):
        found[int(at)] = written[int(which)]
    return found


def _measured(truth: Truth, owner: Ints, answers: Sequence[str], similarity: Similarity) -> dict[str, Values]:
    texts = [truth.private.texts[i] for i in owner]
    pairs = [(words_of(one), words_of(two)) for one, two in zip(texts, answers, strict=True)]
    common = [(Counter(one) & Counter(two)).total() for one, two in pairs]
    writing = Writing(
        same=np.array([one == two for one, two in pairs]),
        common=np.array([2 * c / max(len(a) + len(b), 1) for c, (a, b) in zip(common, pairs, strict=True)]),
        words=np.array([rouge(one, two) for one, two in zip(texts, answers, strict=True)]),
        bleu=np.array([bleu(one, two) for one, two in pairs]),
        sbert=np.where(
            np.array([bool(text) for text in answers]),
            similarity.pairs(truth, owner, answers, np.full(len(owner), NOTHING)).sbert(),
            0.0,
        ),
        named=np.array([named_share(one, two) for one, two in zip(texts, answers, strict=True)]),
        short=np.array([len(text.split()) <= Writing.SHORT for text in texts]),
    )
    return {row.name: row.function(writing) for row in METRICS.of(BASIS)}


def _others(truth: Truth) -> list[str]:
    """Sentences of the same data set that are not private."""
    private = set(truth.private.texts)
    return [text for text in truth.corpus.texts if text not in private]
