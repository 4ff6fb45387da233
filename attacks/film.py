"""Sentences from the words of a batch and a language model alone: what an attacker gets who does not look at spans.

After FILM (Gupta et al. 2022): the bag of words from the rows of the word embedding's gradient, then beam search with a
language model over these words. Ours counts pairs and triples of the public corpus, in the model's own word pieces;
FILM's is a GPT-2 that was tuned on the task, and its last step, which reorders words by the size of the gradient, is
left out. The peer that `span-blind` is to be held against (docs/attacks/span.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench import Floats, Guess, Ints, Reading, Readings, UpdateProtocol, View, attack
from bench.attacks.common.updates import PLACES, WORDS, longest, needed, touched

# Of each step back from triples to pairs, and from pairs to single words (Brants et al. 2007).
BACK = 0.4


@attack(
    "film",
    sees={"updates", "public"},
    paper="after Gupta et al. 2022 (FILM), with n-grams of the public corpus as language model",
    protocol=UpdateProtocol(examples=16, batch=4),
    tensors=(WORDS, PLACES),
)
@dataclass(frozen=True)
class Film:
    """Bag of words from the rows of the word embedding's gradient, then beam search with a language model."""

    beams: int = 64
    """unfinished sentences that go on"""
    fresh: float = 2.0
    """log-likelihood that a word is worth which no sentence has yet"""

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise ValueError("beams must be at least 1")
        if not np.isfinite(self.fresh) or self.fresh < 0:
            raise ValueError("fresh must be a number, at least 0")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        seen = view.updates
        needed(seen, [WORDS], "film")
        view.stage("reading the public corpus")
        public = seen.tokenizer(view.public.texts)[0]
        begin, end = seen.tokenizer.frame
        readings = []
        for number in range(len(seen)):
            view.stage(f"update {number + 1} of {len(seen)}")
            words = touched(seen[number], WORDS, seen.shared[WORDS][0])
            most = min(seen.max_length, longest(seen, seen[number])) if PLACES in seen.shared else seen.max_length
            found: list[list[int]] = []
            if begin in words and end in words:
                model = Triples(words, public, begin)
                found = self.written(model, np.flatnonzero(words == end)[0], most, seen.batch)
            readings.append(Reading([words[one].tolist() for one in found], words.tolist()))
        return Readings(readings=readings)

    def written(self, model: Triples, end: int, longest: int, count: int) -> list[list[int]]:
        """As many sentences as the batch has, one after the other; words that are in one are worth less in the next."""
        found: list[list[int]] = []
        bonus = np.full(len(model.words), self.fresh, dtype=np.float32)
        bonus[end] = 0.0
        for _ in range(count):
            best = self._beam(model, end, longest, bonus)
            if not best or best in found:
                break
            found.append(best)
            bonus[best] = 0.0
        return found

    def _beam(self, model: Triples, end: int, longest: int, bonus: Floats) -> list[int]:
        """The likeliest sentence, by the mean over its tokens."""
        rows = np.array([[model.begin]], dtype=np.int64)
        scores = np.zeros(1, dtype=np.float32)
        best, best_mean = [], -np.inf
        for length in range(2, longest + 1):
            one_before = rows[:, -2] if rows.shape[1] > 1 else np.full(len(rows), -1)
            worth = np.tile(bonus, (len(rows), 1))
            np.put_along_axis(worth, rows, 0.0, axis=1)  # a word is new once
            steps = scores[:, None] + model.after(one_before, rows[:, -1]) + worth
            finished = steps[:, end] / length
            if length > 2 and finished.max() > best_mean:
                best_mean = float(finished.max())
                best = [*rows[finished.argmax()].tolist(), end]
            steps[:, [end, model.begin]] = -np.inf
            chosen = np.argsort(-steps, axis=None, kind="stable")[: self.beams]
            chosen = chosen[np.isfinite(steps.ravel()[chosen])]
            if not len(chosen):
                break
            row, word = np.divmod(chosen, steps.shape[1])
            rows, scores = np.column_stack([rows[row], word]), steps[row, word]
        return [int(word) for word in best]


class Triples:
    """Log-likelihood of each of some words after two others, backing off to pairs and single words."""

    def __init__(self, words: Ints, sentences: Sequence[Sequence[int]], begin: int):
        self.words, self.begin = words, int(np.flatnonzero(words == begin)[0])
        size = len(words)
        place = np.full(int(max(words.max(), max((max(one) for one in sentences), default=0))) + 1, -1, dtype=np.int64)
        place[words] = np.arange(size)
        # -1: a word that the batch does not have, and what stands between two sentences.
        flat = place[np.array([token for one in sentences for token in one], dtype=np.int64)]
        ends = np.cumsum([len(one) for one in sentences])[:-1]
        flat = np.insert(flat, ends, -1)
        self.single = np.bincount(flat[flat >= 0], minlength=size) + 0.1
        pairs = np.stack([flat[:-1], flat[1:]])
        pairs = pairs[:, (pairs >= 0).all(axis=0)]
        self.pairs = np.bincount(pairs[0] * size + pairs[1], minlength=size**2).reshape(size, size)
        triples = np.stack([flat[:-2], flat[1:-1], flat[2:]])
        triples = triples[:, (triples >= 0).all(axis=0)]
        self._keys, self._counts = np.unique((triples[0] * size + triples[1]) * size + triples[2], return_counts=True)

    def after(self, before: Ints, last: Ints) -> Floats:
        """n × words; `before` is -1 where there is none."""
        size = len(self.words)
        single = self.single / self.single.sum()
        pairs = self.pairs[last] / np.maximum(self.single[last], 1.0)[:, None]
        found = np.where(pairs > 0, BACK * pairs, BACK**2 * single)
        keys = (before * size + last)[:, None] * size + np.arange(size)
        at = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
        if len(self._keys):
            hits = (self._keys[at] == keys) & (before >= 0)[:, None]
            total = np.maximum(self.pairs[np.maximum(before, 0), last], 1)[:, None]
            found = np.where(hits, self._counts[at] / total, found)
        logs: Floats = np.log(found).astype(np.float32)
        return logs
