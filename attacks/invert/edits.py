"""Edits of a sentence until its vector is the one that was given: insert, delete, substitute, swap.

The encoder judges; what it is asked is proposed by the decoder and by the bag of words. Encoder calls are the cost:
all sentences are edited side by side, no text is encoded twice, and a sentence whose vector is met is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench import Floats, Ints
from bench.attacks.invert.bag import Bag
from bench.attacks.invert.ngrams import Neighbours
from bench.attacks.invert.words import BEGIN, END, SPECIAL, Vocabulary

Words = tuple[int, ...]
Following = Callable[[Floats, list[Words]], Floats]
"""log-likelihood of every word at every place of some sentences: n × (longest + 1) × words"""
MET = 1 - 1e-5
"""cosine at which a sentence is the one that was looked for, but for rounding"""
TRUST = (1.0, 8.0)
"""weights of what the vector lacks beside log-likelihoods: half of the proposals are to read well, half to fit"""
FLUENT = 0.005
"""weight of the mean log-likelihood of a sentence's words beside its cosine: of two that come as close, the readable"""
AGAIN = 3
"""times that a sentence is edited which stays the best, each time with twice as many proposals"""
BLOCK = 32
"""sentences for which proposals are made at once: some 20 MiB each"""


@dataclass
class Target:
    """A vector, and the sentences that come closest to it so far."""

    vector: Floats
    known: dict[Words, float] = field(default_factory=dict)
    """cosine of every sentence that was judged"""
    worth: dict[Words, float] = field(default_factory=dict)
    """the same with its fluency, for those in the race"""
    vectors: dict[Words, Floats] = field(default_factory=dict)
    best: list[Words] = field(default_factory=list)
    tried: dict[Words, int] = field(default_factory=dict)
    """how often each was edited"""

    @property
    def met(self) -> bool:
        return bool(self.best) and self.known[self.best[0]] >= MET

    def next(self) -> list[Words]:
        """What to edit in the next round: those that never were or, where there is none, the best once more."""
        if self.met or not self.best:
            return []
        fresh = [state for state in self.best if state not in self.tried]
        return fresh or [state for state in self.best[:1] if self.tried[state] < AGAIN]


class Judge:
    """Cosines of sentences with their targets, by the encoder, in the space where every coordinate counts alike."""

    def __init__(self, encoder: Any, vocabulary: Vocabulary, bag: Bag, neighbours: Neighbours, keep: int):
        self.encoder, self.vocabulary, self.bag, self.neighbours = encoder, vocabulary, bag, neighbours
        self.keep = keep
        self.asked = 0

    def look(self, targets: Sequence[Target], proposed: Sequence[Sequence[Words]]) -> None:
        """Judge what is new among the proposals of each target, and keep the best."""
        fresh = [
            [words for words in dict.fromkeys(some) if words and words not in target.known]
            for target, some in zip(targets, proposed, strict=True)
        ]
        texts = {words: self.vocabulary.text(words) for some in fresh for words in some}
        if not texts:
            return
        self.asked += len(texts)
        vectors = dict(zip(texts, self.bag.standard(self.encoder.encode(list(texts.values()))), strict=True))
        for target, some in zip(targets, fresh, strict=True):
            if not some:
                continue
            found = np.stack([vectors[words] for words in some])
            norms = np.linalg.norm(found, axis=1) * np.linalg.norm(target.vector)
            cosines = found @ target.vector / np.maximum(norms, 1e-12)
            target.known.update(zip(some, map(float, cosines), strict=True))
            target.vectors.update(zip(some, found, strict=True))
            # A vector that is met is met, however it reads.
            worth = cosines + FLUENT * self.neighbours.sentences(some) + (cosines >= MET)
            target.worth.update(zip(some, map(float, worth), strict=True))
            target.best = sorted(target.worth, key=lambda words: -target.worth[words])[: self.keep]
            # What is out of the race is never needed again.
            target.worth = {words: target.worth[words] for words in target.best}
            target.vectors = {words: target.vectors[words] for words in target.best}


def polish(
    targets: Sequence[Target],
    judge: Judge,
    proposals: Proposals,
    *,
    rounds: int,
    moves: int,
    length: int,
    progress: Callable[[str], None] = lambda text: None,
) -> None:
    """Improve the targets' sentences in place, until none gets better."""
    for number in range(rounds):
        going = [(target, state) for target in targets for state in target.next()]
        if not going:
            return
        progress(f"editing, round {number + 1} of {rounds}: {len({id(t) for t, _ in going})} sentences left")
        found: dict[int, list[Words]] = {}
        for at in range(0, len(going), BLOCK):
            some = going[at : at + BLOCK]
            for (target, state), moved in zip(some, proposals.moves(some, moves, length), strict=True):
                found.setdefault(id(target), []).extend(moved)
                target.tried[state] = target.tried.get(state, 0) + 1
        edited = [target for target in targets if id(target) in found]
        judge.look(edited, [found[id(target)] for target in edited])


class Proposals:
    """Which word would do well at which place: it should fill what the vector lacks, and stand well there."""

    def __init__(self, bag: Bag, neighbours: Neighbours, following: Following | None):
        self.bag, self.neighbours, self.following = bag, neighbours, following

    def moves(self, going: Sequence[tuple[Target, Words]], count: int, length: int) -> list[list[Words]]:
        """Edited sentences for each of these: all deletions and swaps of neighbours, the most promising of the rest."""
        wanted = np.stack([target.vector for target, _ in going])
        now = np.stack([target.vectors[state] for target, state in going])
        lacking = self.bag.lacking(wanted - now)
        likely = self.following(wanted, [state for _, state in going]) if self.following else None
        found = []
        base = count
        for at, (target, state) in enumerate(going):
            count = base << target.tried.get(state, 0)
            here = None if likely is None else likely[at, : len(state) + 1]
            found.append(
                [
                    *_rearranged(state),
                    *self._shifted(state, count // 4),
                    *self._replaced(state, here, lacking[at], count),
                ]
            )
            if len(state) < length:
                found[-1] += self._inserted(state, here, lacking[at], count)
        return found

    def _replaced(self, state: Words, likely: Floats | None, lacking: Floats, count: int) -> list[Words]:
        framed = np.array([BEGIN, *state, END])
        likely = self._between(framed[:-2], framed[2:], None if likely is None else likely[:-1])
        found = []
        for trust in TRUST:
            scores = likely + trust * lacking
            # What takes a word's place has to be better there.
            scores = scores - scores[np.arange(len(state)), state][:, None]
            found += [(*state[:i], w, *state[i + 1 :]) for i, w in _top(scores, count // len(TRUST))]
        return found

    def _inserted(self, state: Words, likely: Floats | None, lacking: Floats, count: int) -> list[Words]:
        framed = np.array([BEGIN, *state, END])
        likely = self._between(framed[:-1], framed[1:], likely)
        found = []
        for trust in TRUST:
            found += [(*state[:i], w, *state[i:]) for i, w in _top(likely + trust * lacking, count // len(TRUST))]
        return found

    def _between(self, left: Ints, right: Ints, likely: Floats | None) -> Floats:
        found: Floats = (self.neighbours.after(left) if likely is None else likely) + self.neighbours.before(right)
        return found

    def _shifted(self, state: Words, count: int) -> list[Words]:
        """A word moved to where it stands better between its neighbours."""
        n = len(state)
        table = self.neighbours.among(np.array([BEGIN, *state, END]))
        place = np.arange(1, n + 1)
        gone = table[place - 1, place + 1] - table[place - 1, place] - table[place, place + 1]
        gap = np.arange(n + 1)
        come = table[gap[None, :], place[:, None]] + table[place[:, None], gap[None, :] + 1] - table[gap, gap + 1]
        scores = gone[:, None] + come
        scores[place - 1, place - 1] = scores[place - 1, place] = -np.inf  # where it stands
        found = []
        for i, j in _top(scores, count, least=0):
            rest = state[:i] + state[i + 1 :]
            at = j - (j > i)
            found.append((*rest[:at], state[i], *rest[at:]))
        return found


def _rearranged(state: Words) -> list[Words]:
    n = len(state)
    found = [state[:i] + state[i + 1 :] for i in range(n) if n > 1]
    return found + [(*state[:i], state[i + 1], state[i], *state[i + 2 :]) for i in range(n - 1)]


def _top(scores: Floats, count: int, least: int = SPECIAL) -> list[tuple[int, int]]:
    """Rows and columns of the highest scores; columns below `least` do not count."""
    flat: Ints = np.argpartition(-scores, count, axis=None)[:count] if scores.size > count else np.arange(scores.size)
    row, column = np.unravel_index(flat, scores.shape)
    return [(int(i), int(w)) for i, w in zip(row, column, strict=True) if w >= least and scores[i, w] > -np.inf]
