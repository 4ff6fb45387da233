"""Edits of a sentence until its vector is the one that was given: insert, delete, substitute, swap, move.

The encoder judges; what it is asked is proposed by the bag of words and by pairs of neighbours. Encoder calls are the
cost: all sentences are edited side by side, no text is encoded twice, a sentence whose vector is met is done, and what
single edits were seen to do says which of them to make at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bench import Floats, Ints
from bench.attacks.invert.bag import Bag
from bench.attacks.invert.judge import Judge, Target, Words
from bench.attacks.invert.ngrams import Neighbours
from bench.attacks.invert.words import BEGIN, END, SPECIAL

Following = Callable[[Floats, list[Words]], Floats]
"""log-likelihood of every word at every place of some sentences: n × (longest + 1) × words"""
TRUST = (1.0, 8.0)
"""weights of what the vector lacks beside log-likelihoods: half of the proposals are to read well, half to fit"""
BLOCK = 16
"""sentences for which proposals are made at once: some 30 MiB each"""
SINGLE = 32
"""best single edits of a sentence that are made together"""
TOGETHER = 5
"""of them at once, at most"""


LONGEST = 4
"""words that are moved together, at most"""


class Edit(NamedTuple):
    """Words `start` to `stop` of a sentence give way to others."""

    start: int
    stop: int
    words: Words


def edited(state: Words, edits: Sequence[Edit]) -> Words:
    """A sentence after edits that do not touch the same words."""
    for edit in sorted(edits, reverse=True):
        state = (*state[: edit.start], *edit.words, *state[edit.stop :])
    return state


def polish(
    targets: Sequence[Target],
    judge: Judge,
    proposals: Proposals,
    *,
    rounds: int,
    moves: int,
    length: int,
    joint: int = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> None:
    """Improve the targets' sentences in place, until none gets better."""
    for number in range(rounds):
        going = [(target, state) for target in targets for state in target.next()]
        if not going:
            return
        progress(f"editing, round {number + 1} of {rounds}: {len({id(t) for t, _ in going})} sentences left")
        before = [target.vectors[state] for target, state in going]
        single: list[dict[Words, Edit]] = []
        for at in range(0, len(going), BLOCK):
            some = going[at : at + BLOCK]
            for (target, state), edits in zip(some, proposals.moves(some, moves, length), strict=True):
                single.append({edited(state, [edit]): edit for edit in edits})
                target.tried[state] = target.tried.get(state, 0) + 1
        found = _each(judge, going, single)
        if joint:
            pairs = zip(going, before, single, found, strict=True)
            more = [
                _joined(target, state, now, made, seen, joint, length) for (target, state), now, made, seen in pairs
            ]
            _each(judge, going, more)


def _each(
    judge: Judge, going: Sequence[tuple[Target, Words]], proposed: Sequence[Sequence[Words] | dict[Words, Edit]]
) -> list[dict[Words, Floats]]:
    """Judge the proposals of all states at once; the vectors of each state's own."""
    by_target: dict[int, tuple[Target, list[Words]]] = {}
    for (target, _), some in zip(going, proposed, strict=True):
        by_target.setdefault(id(target), (target, []))[1].extend(some)
    found = judge.look([target for target, _ in by_target.values()], [some for _, some in by_target.values()])
    vectors = dict(zip(by_target, found, strict=True))
    return [
        {words: vectors[id(target)][words] for words in some if words in vectors[id(target)]}
        for (target, _), some in zip(going, proposed, strict=True)
    ]


def _joined(
    target: Target,
    state: Words,
    now: Floats,
    made: dict[Words, Edit],
    seen: dict[Words, Floats],
    count: int,
    length: int,
) -> list[Words]:
    """Sentences with several of the edits at once, by what they would come to if their effects added up."""
    if target.met or len(seen) < 2:
        return []
    words = list(seen)
    vectors = np.stack([seen[one] for one in words])
    wanted = target.vector / np.linalg.norm(target.vector)
    closest = np.argsort(-(vectors @ wanted) / np.linalg.norm(vectors, axis=1), kind="stable")[:SINGLE]
    edits = [made[words[i]] for i in closest]
    effects = vectors[closest] - now
    apart = np.array([[one.stop <= two.start or two.stop <= one.start for two in edits] for one in edits])
    same_gap = np.array([[one[:2] == two[:2] for two in edits] for one in edits])
    apart &= ~same_gap
    beams: list[tuple[tuple[int, ...], Floats]] = [((), now)]
    found: dict[Words, None] = {}
    for size in range(1, TOGETHER + 1):
        grown: dict[tuple[int, ...], tuple[float, Floats]] = {}
        for chosen, vector in beams:
            free = apart[list(chosen)].all(axis=0) if chosen else np.ones(len(edits), bool)
            sums = vector + effects
            cosines = np.where(free, sums @ wanted / np.linalg.norm(sums, axis=1), -np.inf)
            for i in np.argsort(-cosines, kind="stable")[:count]:
                if free[i]:  # type: ignore[index]
                    grown.setdefault(tuple(sorted((*chosen, int(i)))), (float(cosines[i]), sums[i]))
        best = sorted(grown.items(), key=lambda item: -item[1][0])[:count]
        beams = [(chosen, vector) for chosen, (_, vector) in best]
        if size > 1:
            for chosen, _ in beams[: max(1, count // (TOGETHER - 1))]:
                joined = edited(state, [edits[i] for i in chosen])
                if 0 < len(joined) <= length:
                    found.setdefault(joined)
    return list(found)


class Proposals:
    """Which word would do well at which place: it should fill what the vector lacks, and stand well there."""

    def __init__(self, bag: Bag, neighbours: Neighbours, following: Following | None):
        self.bag, self.neighbours, self.following = bag, neighbours, following

    def moves(self, going: Sequence[tuple[Target, Words]], count: int, length: int) -> list[list[Edit]]:
        """Edits of each of these: all deletions and swaps of neighbours, the most promising of the rest."""
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
                    *self._shifted(state, count // 2),
                    *self._replaced(state, here, lacking[at], count),
                ]
            )
            if len(state) < length:
                found[-1] += self._inserted(state, here, lacking[at], count)
        return found

    def _replaced(self, state: Words, likely: Floats | None, lacking: Floats, count: int) -> list[Edit]:
        framed = np.array([BEGIN, *state, END])
        likely = self._between(framed[:-2], framed[2:], None if likely is None else likely[:-1])
        found = []
        for trust in TRUST:
            scores = likely + trust * lacking
            # What takes a word's place has to be better there.
            scores = scores - scores[np.arange(len(state)), state][:, None]
            found += [Edit(i, i + 1, (w,)) for i, w in _top(scores, count // len(TRUST), each=trust == TRUST[0])]
        return found

    def _inserted(self, state: Words, likely: Floats | None, lacking: Floats, count: int) -> list[Edit]:
        framed = np.array([BEGIN, *state, END])
        likely = self._between(framed[:-1], framed[1:], likely)
        found = []
        for trust in TRUST:
            scores = likely + trust * lacking
            found += [Edit(i, i, (w,)) for i, w in _top(scores, count // len(TRUST), each=trust == TRUST[0])]
        return found

    def _between(self, left: Ints, right: Ints, likely: Floats | None) -> Floats:
        found: Floats = (self.neighbours.after(left) if likely is None else likely) + self.neighbours.before(right)
        return found

    def _shifted(self, state: Words, count: int) -> list[Edit]:
        """Words that stand together moved to where they stand better between their neighbours."""
        n = len(state)
        table = self.neighbours.among(np.array([BEGIN, *state, END]))
        gap = np.arange(n + 1)
        every = np.full((LONGEST, n, n + 1), -np.inf)
        for size in range(1, min(LONGEST, n - 1) + 1):
            first = np.arange(1, n - size + 2)
            last = first + size - 1
            gone = table[first - 1, last + 1] - table[first - 1, first] - table[last, last + 1]
            come = table[gap[None, :], first[:, None]] + table[last[:, None], gap[None, :] + 1] - table[gap, gap + 1]
            inside = (gap >= first[:, None] - 1) & (gap <= last[:, None])  # where it stands
            every[size - 1, : len(first)] = np.where(inside, -np.inf, gone[:, None] + come)
        found = []
        for row, gap_at in _top(every.reshape(-1, n + 1), count, least=0):
            start, stop = row % n, row % n + row // n + 1
            if gap_at > start:
                found.append(Edit(start, gap_at, (*state[stop:gap_at], *state[start:stop])))
            else:
                found.append(Edit(gap_at, stop, (*state[start:stop], *state[gap_at:start])))
        return found


def _rearranged(state: Words) -> list[Edit]:
    n = len(state)
    found = [Edit(i, i + 1, ()) for i in range(n) if n > 1]
    return found + [Edit(i, i + 2, (state[i + 1], state[i])) for i in range(n - 1)]


def _top(scores: Floats, count: int, least: int = SPECIAL, each: bool = False) -> list[tuple[int, int]]:
    """Rows and columns of the highest scores, with `each` as many in every row; columns below `least` do not count."""
    if each:
        scores = scores[:, least:]
        some = min(-(-count // len(scores)), scores.shape[1])
        column: Ints = np.argpartition(-scores, some - 1, axis=1)[:, :some].ravel() + least
        row: Ints = np.arange(len(scores)).repeat(some)
        keep = scores[row, column - least] > -np.inf
        return [(int(i), int(w)) for i, w in zip(row[keep], column[keep], strict=True)]
    flat: Ints = np.argpartition(-scores, count, axis=None)[:count] if scores.size > count else np.arange(scores.size)
    row, column = np.unravel_index(flat, scores.shape)
    return [(int(i), int(w)) for i, w in zip(row, column, strict=True) if w >= least and scores[i, w] > -np.inf]
