"""How close sentences come to the vectors that are looked for, and which of them go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench import Floats
from bench.attacks.invert.bag import Bag
from bench.attacks.invert.ngrams import Neighbours
from bench.attacks.invert.words import Vocabulary

Words = tuple[int, ...]
MET = 1 - 1e-5
"""cosine at which a sentence is the one that was looked for, but for rounding"""
CLOSE = 0.998
"""cosine from which on the encoder itself is asked, not its draft"""
FLUENT = (0.001, 0.0003)
"""weights of a sentence's log-likelihood beside its cosine, one after the other. Without it words that add next to
nothing pile up; in the end it decides between sentences that come as close"""
AGAIN = 3
"""times that a sentence is edited which stays the best, each time with twice as many proposals"""


@dataclass
class Target:
    """A vector, and the sentences that come closest to it so far."""

    vector: Floats
    known: dict[Words, float] = field(default_factory=dict)
    """cosine of every sentence that was judged"""
    fluency: dict[Words, float] = field(default_factory=dict)
    """log-likelihood of those in the race"""
    vectors: dict[Words, Floats] = field(default_factory=dict)
    best: list[Words] = field(default_factory=list)
    tried: dict[Words, int] = field(default_factory=dict)
    """how often each was edited"""
    asked: set[Words] = field(default_factory=set)
    """those whose cosine is the encoder's own"""
    met: bool = False

    def next(self) -> list[Words]:
        """What to edit in the next round: those that never were or, where there is none, the best once more."""
        if self.met or not self.best:
            return []
        fresh = [state for state in self.best if state not in self.tried]
        return fresh or [state for state in self.best[:1] if self.tried[state] < AGAIN]


class Judge:
    """Cosines of sentences with their targets, in the space where every coordinate counts alike."""

    def __init__(
        self,
        encoder: Any,
        vocabulary: Vocabulary,
        bag: Bag,
        neighbours: Neighbours,
        keep: int,
        draft: Callable[[Sequence[str]], Floats] | None = None,
    ):
        self.encoder, self.vocabulary, self.bag, self.neighbours = encoder, vocabulary, bag, neighbours
        self.keep, self.draft = keep, draft
        self.drafted = self.asked = 0
        self.fluent = FLUENT[0]

    def look(self, targets: Sequence[Target], proposed: Sequence[Sequence[Words]]) -> list[dict[Words, Floats]]:
        """Judge what is new among the proposals of each target, keep the best; the new ones' vectors."""
        fresh = [
            [words for words in dict.fromkeys(some) if words and words not in target.known]
            for target, some in zip(targets, proposed, strict=True)
        ]
        texts = {words: self.vocabulary.text(words) for some in fresh for words in some}
        if not texts:
            return [{} for _ in targets]
        vectors = dict(zip(texts, self._encoded(list(texts.values())), strict=True))
        for target, some in zip(targets, fresh, strict=True):
            if some:
                self._enter(target, some, np.stack([vectors[words] for words in some]))
        if self.draft is not None:
            close = [(t, t.best[0]) for t in targets if t.best and t.known[t.best[0]] >= CLOSE]
            self.ask([(target, words) for target, words in close if words not in target.asked])
        return [{words: vectors[words] for words in some} for some in fresh]

    def ask(self, some: Sequence[tuple[Target, Words]]) -> None:
        """What the encoder itself says of sentences that came close."""
        if not some or self.draft is None:
            return
        self.asked += len(some)
        vectors = self.bag.standard(self.encoder.encode([self.vocabulary.text(words) for _, words in some]))
        for (target, words), vector in zip(some, vectors, strict=True):
            target.asked.add(words)
            self._enter(target, [words], vector[None])

    def _encoded(self, texts: list[str]) -> Floats:
        if self.draft is None:
            self.asked += len(texts)
            return self.bag.standard(self.encoder.encode(texts))
        self.drafted += len(texts)
        return self.bag.standard(self.draft(texts))

    def _enter(self, target: Target, some: Sequence[Words], vectors: Floats) -> None:
        norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(target.vector)
        cosines = vectors @ target.vector / np.maximum(norms, 1e-12)
        target.known.update(zip(some, map(float, cosines), strict=True))
        target.vectors.update(zip(some, vectors, strict=True))
        target.fluency.update(zip(some, map(float, self.neighbours.sentences(some)), strict=True))
        self.rank(target)

    def rank(self, target: Target) -> None:
        """The best first, and what is out of the race forgotten."""

        def met(words: Words) -> bool:
            return target.known[words] >= MET and (self.draft is None or words in target.asked)

        def worth(words: Words) -> float:
            # A vector that is met is met, however it reads.
            return target.known[words] + self.fluent * target.fluency[words] + 100.0 * met(words)

        target.best = sorted(target.fluency, key=worth, reverse=True)[: self.keep]
        target.met = bool(target.best) and met(target.best[0])
        target.fluency = {words: target.fluency[words] for words in target.best}
        target.vectors = {words: target.vectors[words] for words in target.best}
