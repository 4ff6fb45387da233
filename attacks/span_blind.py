"""Reads the sentences of a batch out of its update without any corpus, word by word.

The first span says which word may stand where, and which lengths there are; the inputs of the first feed-forward matrix
depend on the whole sentence, and lie in the span of its gradient only if all of it is right. So a sentence is looked
for by coordinate descent on its distance to that span, several starts at once, each around a word that no sentence
found so far has. The span at the top, which has a dimension for each sentence of the batch, says whether one is right,
and when all are found. docs/attacks/span.md has the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bench import Guess, Ints, Reading, Readings, UpdateProtocol, View, attack
from bench.attacks.common.updates import needed, tensor, touched
from bench.attacks.span import PLACES, TENSORS, WORDS, words
from bench.attacks.span.states import inner
from bench.attacks.span.subspace import ROUNDING, SINGLE, Span, Values, span_of

if TYPE_CHECKING:
    from bench.surfaces.seen import SeenUpdates

Flags = npt.NDArray[np.bool_]
# Of the typical distance of a word at a place to the first span: nearer ones may stand there.
NEAR = 1e-3
# Sentences that are run through the first layer at a time.
BLOCK = 512
# No sentence is taken that is farther from a span than this, however uncertain its rank.
FARTHEST = 0.05


@attack(
    "span-blind",
    sees={"updates"},
    paper="after Petrov et al. 2024 (DAGER), for encoders; the search is ours",
    protocol=UpdateProtocol(examples=16, batch=4),
    tensors=TENSORS,
)
@dataclass(frozen=True)
class SpanBlind:
    """Sentences put together word by word until their inputs lie in the span of a gradient; no corpus."""

    starts: int = 16
    """sentences that are improved at once"""
    sweeps: int = 8
    """times that every place of them is gone through"""
    tries: int = 4
    """times that a word is started from, before it is given up"""

    def __post_init__(self) -> None:
        if min(self.starts, self.sweeps, self.tries) < 1:
            raise ValueError("starts, sweeps and tries must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        seen = view.updates
        needed(seen, ["layer.0.qkv.weight"], "span-blind")
        readings, details = [], []
        for number in range(len(seen)):
            search = _Search(seen, number)
            for found in search.sentences(self, rng):
                view.stage(f"update {number + 1} of {len(seen)}: {found} of {search.count} sentences")
            done = len(search.found) == search.count
            readings.append(Reading([list(one) for one in search.found], search.words.tolist(), done))
            details.append({"rank": search.inside.rank, "sentences": search.count, "run": search.run})
        return Readings(readings=readings, details={"updates": details})


@dataclass
class _Start:
    """A sentence that is improved, but for the word that it was started from."""

    tokens: Ints
    anchored: int
    """the place of that word"""
    distance: float = np.inf
    improved: bool = True


class _Search:
    """The search in one update."""

    def __init__(self, seen: SeenUpdates, number: int):
        self.seen, update = seen, seen[number]
        architecture = seen.architecture
        self.top = architecture.layers - 1
        first = span_of(tensor(update, "layer.0.qkv.weight"))
        self.inside, self.above = (span_of(tensor(update, f"layer.{i}.down.weight")) for i in (0, self.top))
        # More sentences than the batch has are not in it, whatever noise makes of the span.
        self.count = min(self.above.rank, seen.batch)
        self.found: list[tuple[int, ...]] = []
        self.run = 0
        """sentences that were run through the first layer"""
        longest = min(seen.max_length, architecture.positions)
        if PLACES in seen.shared:
            places = touched(update, PLACES, seen.shared[PLACES][0])
            longest = int(places.max(initial=architecture.offset + 2)) + 1 - architecture.offset
        near = words.distances(first, seen.weights, architecture.offset, longest, architecture.eps)
        self.words = (
            touched(update, WORDS, seen.shared[WORDS][0]) if WORDS in seen.shared else words.in_span(near, first)
        )
        self.begin, self.end = seen.tokenizer.frame
        self.inner_words = np.setdiff1d(self.words, list(seen.tokenizer.special))
        limit = NEAR * np.median(near) if not first.whole else np.inf
        self.fits: Flags = near[self.inner_words] <= limit
        """which word may stand where"""
        self.lengths = [at + 1 for at in range(2, longest) if near[self.end, at] <= limit]

    def sentences(self, how: SpanBlind, rng: np.random.Generator) -> Iterator[int]:
        """Look for all of them; says how many there are after each round."""
        given_up: dict[int, int] = {}
        while len(self.found) < self.count and len(self.inner_words):
            known = {token for one in self.found for token in one}
            left = [at for at, token in enumerate(self.inner_words) if int(token) not in known]
            left = left or list(range(len(self.inner_words)))
            left = [at for at in left if given_up.get(at, 0) < how.tries]
            if not left or not self.lengths:
                break
            # A word that fits in few places leaves least to guess.
            anchor = min(left, key=lambda at: (given_up.get(at, 0), self.fits[at].sum() or 1 << 20, at))
            given_up[anchor] = given_up.get(anchor, 0) + 1
            self._around(anchor, how, rng)
            yield len(self.found)

    def _around(self, anchor: int, how: SpanBlind, rng: np.random.Generator) -> None:
        """Start sentences that have one word at one of its places, and improve them."""
        spots = [
            (length, place)
            for length in self.lengths
            for place in range(1, length - 1)
            if self.fits[anchor, place] and self.fits[:, 1 : length - 1].any(axis=0).all()
        ]
        if not spots:
            return
        chosen = [spots[i] for i in rng.choice(len(spots), how.starts, replace=len(spots) < how.starts)]
        going = [_Start(self._drawn(length, place, anchor, rng), place) for length, place in chosen]
        for _ in range(how.sweeps):
            for length in sorted({len(start.tokens) for start in going}):
                self._sweep([start for start in going if len(start.tokens) == length], rng)
            for start in going:
                if start.distance <= ROUNDING * max(self.inside.floor, 1e-4):
                    self._check(tuple(start.tokens.tolist()))
            # The better half goes on, as far as it still gets better and is no copy.
            going = self._fresh([start for start in going if start.improved])
            going = sorted(going, key=lambda start: start.distance)[: max(2, len(going) // 2)]
            if not going:
                return

    def _drawn(self, length: int, place: int, anchor: int, rng: np.random.Generator) -> Ints:
        """A sentence of words that may stand where they stand."""
        tokens = np.full(length, self.begin, dtype=np.int64)
        for at in range(1, length - 1):
            tokens[at] = self.inner_words[rng.choice(np.flatnonzero(self.fits[:, at]))]
        tokens[-1], tokens[place] = self.end, self.inner_words[anchor]
        return tokens

    def _sweep(self, starts: list[_Start], rng: np.random.Generator) -> None:
        """Go through all places of some sentences of one length, and take the best word for each."""
        length = len(starts[0].tokens)
        before = [start.distance for start in starts]
        for place in rng.permutation(np.arange(1, length - 1)):
            free = [start for start in starts if start.anchored != place]
            choice = self.inner_words[self.fits[:, place]]
            if not free:
                continue
            trial = np.repeat(np.stack([start.tokens for start in free]), len(choice), axis=0)
            trial[:, place] = np.tile(choice, len(free))
            values = self._distance(trial).reshape(len(free), len(choice))
            for start, value in zip(free, values, strict=True):
                start.tokens[place], start.distance = choice[value.argmin()], float(value.min())
        for start, was in zip(starts, before, strict=True):
            start.improved = start.distance < was * (1 - 1e-6)

    def _fresh(self, starts: list[_Start]) -> list[_Start]:
        """Those that are not found already, and of equal ones the first."""
        kept: dict[tuple[int, ...], _Start] = {}
        for start in starts:
            kept.setdefault(tuple(start.tokens.tolist()), start)
        return [start for tokens, start in kept.items() if tokens not in self.found]

    def _distance(self, states: Ints) -> Values:
        """Mean distance of the tokens of each sentence to the span of the first feed-forward inputs."""
        found = np.empty(len(states))
        self.run += len(states)
        for at in range(0, len(states), BLOCK):
            some = states[at : at + BLOCK]
            inputs = self._inputs(some, 0)
            # In single precision: enough to search by, and twice as fast.
            inside = ((inputs @ self._basis.T) ** 2).sum(axis=1) / (inputs**2).sum(axis=1)
            found[at : at + BLOCK] = np.sqrt(np.maximum(1 - inside, 0)).reshape(some.shape).mean(axis=1)
        return found

    @cached_property
    def _basis(self) -> npt.NDArray[np.float32]:
        return self.inside.basis.astype(np.float32)

    def _inputs(self, states: Ints, layer: int) -> npt.NDArray[np.float32]:
        ids = states.tolist()
        kinds = np.zeros_like(states).tolist()
        return inner(self.seen.weights, self.seen.architecture, ids, kinds, [layer])[layer]

    def _check(self, sentence: tuple[int, ...]) -> None:
        """Take a sentence that lies in the spans below and above."""
        if sentence in self.found:
            return
        state = np.array([sentence])
        far = self.inside.distance(self._inputs(state, 0)).max()
        above = self.above.distance(self._inputs(state, self.top))[0]
        if far <= _allowed(self.inside) and above <= _allowed(self.above):
            self.found.append(sentence)


def _allowed(span: Span) -> float:
    """How far rounding may move a member."""
    return min(ROUNDING * max(span.floor, SINGLE), FARTHEST)
