"""The search for the sentences of one update: coordinate descent on what they leave outside the span of a gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from bench import Floats, Ints
from bench.attacks.common.updates import tensor
from bench.attacks.span.states import inner
from bench.attacks.span.subspace import ROUNDING, SINGLE, Span, span_of
from bench.attacks.span_blind.places import Flags, standing
from bench.attacks.span_blind.residuals import Residuals

if TYPE_CHECKING:
    from bench.attacks.span_blind import SpanBlind
    from bench.surfaces.seen import SeenUpdates

# No sentence is taken that is farther from a span than this, however uncertain its rank.
FARTHEST = 0.05
# A first look at each length: so few starts and sweeps show which of them are worth more, and so many are.
GLANCE_STARTS, GLANCE_SWEEPS, LENGTHS = 4, 2, 4
# Tries in which the places that were read off rows are believed.
BELIEVED = 2
# Lengths that are tried the first time: the likeliest ones.
LIKELY = 8
# Places that a word is tried at if it is not known where it stands.
SPOTS = 3
# Sentences that are improved further with all words allowed everywhere: where a word stands may have been misread.
FINISH = 4
# A descent that changes nothing by more than this share is at its end.
STILL = 1e-4


@dataclass
class _Group:
    """Sentences of one length, all with one word at one place, that are improved together."""

    rows: torch.Tensor
    anchored: int
    """the place of that word; 0: none is held"""
    values: torch.Tensor

    def best(self, count: int) -> _Group:
        order = torch.argsort(self.values, stable=True)[:count]
        return _Group(self.rows[order], self.anchored, self.values[order])


class Search:
    """The search in one update."""

    def __init__(self, seen: SeenUpdates, number: int, how: SpanBlind, rng: np.random.Generator):
        self.seen, self.how, self.rng = seen, how, rng
        update, self.top = seen[number], seen.architecture.layers - 1
        self.inside, self.above = (span_of(tensor(update, f"layer.{i}.down.weight")) for i in (0, self.top))
        # More sentences than the batch has are not in it, whatever noise makes of the span.
        self.count = min(self.above.rank, seen.batch)
        self.standing = standing(seen, number)
        words = self.standing.words
        self.residuals = Residuals(seen, number, words, self.standing.places, rng)
        self.tokens, self.lone = self.residuals.rank, int(self.standing.lone.sum())
        self.begin, self.end = (np.flatnonzero(words == token) for token in seen.tokenizer.frame)
        self.inner_words = np.flatnonzero(~np.isin(words, list(seen.tokenizer.special)))
        self.found: list[tuple[int, ...]] = []

    def sentences(self) -> Iterator[int]:
        """Look for all of them; says how many there are after each word that was started from."""
        if not self.residuals.room or not len(self.begin) or not len(self.end):
            return
        for attempt in range(self.how.tries):
            for anchor in self._anchors():
                if len(self.found) >= self.count:
                    return
                used = self._used()
                if anchor not in used or len(used) == len(self.inner_words):
                    # What is easily found leaves fewer words for the rest, so the first time little is spent; later on
                    # the places that were read are no longer believed.
                    self._around(anchor, self._allowed(believed=attempt < BELIEVED), quick=attempt == 0)
                    yield len(self.found)

    def _anchors(self) -> list[int]:
        """Words to start from: those whose place is surest first; all, if every one is in some sentence."""
        used = self._used()
        left = [int(at) for at in self.inner_words if at not in used] or [int(at) for at in self.inner_words]
        # All of a word's gradient is found at one place. More than all, or less, is a sign of errors.
        return sorted(left, key=lambda at: abs(1 - self.standing.share[at].max()))

    def _used(self) -> set[int]:
        """Words that found sentences have used up. One that stands at several places may be in others, too."""
        found = {token for one in self.found for token in one}
        words, lone = self.standing.words, self.standing.lone
        return {int(at) for at in self.inner_words if int(words[at]) in found and lone[at]}

    def _allowed(self, believed: bool) -> Flags:
        """Words × places: where each may stand, without the words that are used up. If what was read off rows is not
        believed, words that seemed to have one place are allowed everywhere."""
        if not believed:
            return self.standing.may | self.standing.lone[:, None]
        may = self.standing.may.copy()
        may[list(self._used())] = False
        return may

    def _around(self, anchor: int, may: Flags, quick: bool) -> None:
        """Start sentences that have one word at one of its places, in all lengths, and improve the promising ones."""
        glances = []
        for place, length in self._spots(anchor, may, quick):
            group = self._started(anchor, place, length, may, GLANCE_STARTS)
            glances.append(self._improved(group, may, GLANCE_SWEEPS))
        glances.sort(key=lambda group: float(group.values.min()))
        for glance in glances[: LENGTHS // 2 if quick else LENGTHS]:
            more = self._started(anchor, glance.anchored, glance.rows.shape[1], may, self.how.starts)
            both = _Group(torch.cat([glance.rows, more.rows]), glance.anchored, torch.cat([glance.values, more.values]))
            done = self._improved(both, may, self.how.sweeps).best(1 if quick else FINISH)
            if self._taken(done) or self._taken(self._finished(done, 0 if quick else self.how.sweeps)):
                return

    def _spots(self, anchor: int, may: Flags, quick: bool) -> list[tuple[int, int]]:
        """Places of a word, with lengths that a sentence may have then."""
        longest = self.standing.places
        # Words that may stand at a place at all: a sentence has no gap.
        filled = np.any(may[self.inner_words, 1:], axis=0)
        open_to = longest if filled.all() else int(np.argmin(filled)) + 2
        lengths: Sequence[int] = range(3, min(open_to, longest) + 1)
        rest = self.tokens - sum(map(len, self.found))
        if len(self.found) == self.count - 1 and rest in lengths:
            lengths = [rest]  # the last sentence has the tokens that are left
        elif quick and self.standing.share.any():  # [SEP] stands at several places, with some of its gradient at each
            ends = self.standing.share[self.end[0]]
            lengths = sorted(lengths, key=lambda length: -ends[length - 1])[:LIKELY]
        spots = np.flatnonzero(may[anchor][1:-1]) + 1
        # Where it is not known, the likeliest places and some others.
        order = np.argsort(-self.standing.share[anchor, spots] + 1e-9 * self.rng.random(len(spots)))
        spots = spots[order[: 1 if quick else SPOTS]]
        return [(int(place), length) for place in spots for length in lengths if place < length - 1]

    def _started(self, anchor: int, place: int, length: int, may: Flags, count: int) -> _Group:
        """Sentences of words that may stand where they stand."""
        rows = np.empty((count, length), dtype=np.int64)
        rows[:, 0], rows[:, -1] = self.begin[0], self.end[0]
        for at in range(1, length - 1):
            rows[:, at] = self.rng.choice(self.inner_words[may[self.inner_words, at]], count)
        rows[:, place] = anchor
        drawn = torch.as_tensor(rows)
        return _Group(drawn, place, self.residuals.of(drawn))

    def _improved(self, group: _Group, may: Flags, sweeps: int) -> _Group:
        """Go through all places, and take the best word for each; the better half goes on after the second time."""
        for sweep in range(sweeps):
            before = group.values.clone()
            for place in self.rng.permutation(np.arange(1, group.rows.shape[1] - 1)):
                choice = torch.as_tensor(self.inner_words[may[self.inner_words, place]])
                if place == group.anchored or not len(choice):
                    continue
                values, chosen = self.residuals.replaced(group.rows, int(place), choice).min(dim=1)
                better = values < group.values
                group.rows[better, int(place)] = choice[chosen[better]]
                group.values = torch.where(better, values, group.values)
            if bool((group.values >= before * (1 - STILL)).all()):
                break
            if sweep:
                group = group.best(max(FINISH, len(group.rows) // 2))
        return group

    def _finished(self, group: _Group, rounds: int) -> _Group:
        """Improve sentences further, with all words allowed everywhere, and words that change their places: right words
        in a wrong order, or shifted by one, are where a descent over single words gets stuck."""
        everywhere = np.ones_like(self.standing.may)
        group = self._improved(_Group(group.rows, 0, group.values), everywhere, self.how.sweeps)
        orders = _orders(group.rows.shape[1])
        for _ in range(rounds if len(orders) else 0):
            before = group.values.clone()
            for at, row in enumerate(group.rows):
                moved = row[orders]
                values = self.residuals.of(moved)
                if values.min() < group.values[at]:
                    group.rows[at], group.values[at] = moved[values.argmin()], values.min()
            if bool((group.values >= before * (1 - STILL)).all()):
                break
            group = self._improved(group, everywhere, self.how.sweeps)
        return group

    def _taken(self, group: _Group) -> bool:
        """Take the best sentence of a group if it lies in the spans below and above."""
        sentence = tuple(self.standing.words[group.best(1).rows[0].numpy()].tolist())
        if sentence in self.found:
            return False
        state = np.array([sentence])
        far = self.inside.distance(self._inputs(state, 0)).max()
        above = self.above.distance(self._inputs(state, self.top))[0]
        if far > _allowed(self.inside) or above > _allowed(self.above):
            return False
        self.found.append(sentence)
        return True

    def _inputs(self, states: Ints, layer: int) -> Floats:
        kinds = np.zeros_like(states).tolist()
        return inner(self.seen.weights, self.seen.architecture, states.tolist(), kinds, [layer])[layer]


def _orders(length: int) -> torch.Tensor:
    """Orders of a sentence's places in which two words are exchanged, or one is put elsewhere and those between move;
    [CLS] and [SEP] stay."""
    found = []
    for one in range(1, length - 1):
        for other in range(1, length - 1):
            if other == one:
                continue
            order = list(range(length))
            order.insert(other, order.pop(one))
            found.append(order)
            if one < other - 1:
                order = list(range(length))
                order[one], order[other] = other, one
                found.append(order)
    return torch.tensor(found, dtype=torch.int64).reshape(-1, length)


def _allowed(span: Span) -> float:
    """How far rounding may move a member."""
    return min(ROUNDING * max(span.floor, SINGLE), FARTHEST)
