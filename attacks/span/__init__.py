"""Names the sentences of a batch from its update, out of a corpus: those whose inputs lie in the span of a gradient.

After DAGER (Petrov et al. 2024), with another check for whole sentences. In the top layer only first tokens have a
gradient, so the span of its inputs has as many dimensions as the batch has sentences, not tokens: a sentence is one
vector, and there is room for as many sentences as the layer has outputs. docs/attacks/span.md says how, and why no
defense of the representation matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench import Floats, Guess, Ints, Reading, Readings, View, attack
from bench.attacks.common.updates import PLACES, WORDS, hidden, longest, needed, tensor, touched
from bench.attacks.span import faint, noise
from bench.attacks.span import words as words_of
from bench.attacks.span.cover import cover
from bench.attacks.span.states import blocks, inner
from bench.attacks.span.subspace import Span, Values, members, span_of

if TYPE_CHECKING:
    from bench.surfaces.seen import SeenUpdates

TENSORS = (WORDS, PLACES, "first.qkv.weight", "first.down.weight", "last.down.weight")
# Without dropout [CLS], which every batch has, lies so much nearer to the span of the first inputs than other words.
CLEAN = 1e-3
# One word of so many is looked at to see how far words usually are.
SAMPLE = 61
# Share of a batch's words that the best covering may leave without a sentence.
MISSING = 0.1
# Candidates nearest to the span among whom sentences with a faint gradient are looked for.
NEAREST = 4096


@attack(
    "span",
    sees={"updates", "corpus"},
    paper="after Petrov et al. 2024 (DAGER); the check at the top layer and the covering are ours",
    tensors=TENSORS,
)
@dataclass(frozen=True)
class SpanAttack:
    """Sentences of the corpus whose inputs to a feed-forward matrix lie in the span of its gradient."""

    rows: bool = True
    """read the words from rows of the word embedding's gradient, where they are sent; false: from the first span"""

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        seen = view.updates
        needed(seen, [f"layer.{layer}.down.weight" for layer in _layers(seen)] or ["a layer's weights"], "span")
        view.stage("reading the corpus")
        ids, types = _distinct(*seen.tokenizer(view.corpus.texts))
        batches = [_Batch(seen, number, self.rows) for number in range(len(seen))]
        allowed = [batch.fitting(ids) for batch in batches]
        distances, inputs = _distances(view, seen, batches, ids, types, allowed)
        union = np.unique(np.concatenate(allowed))

        def at_the_top(rows: Ints) -> Floats:
            if inputs is not None:
                return inputs[np.searchsorted(union, rows)]
            return _at_the_top(seen, ids, types, rows)

        readings = []
        for number, batch in enumerate(batches):
            view.stage(f"naming sentences, update {number + 1} of {len(batches)}")
            readings.append(batch.named(ids, allowed[number], distances[number], at_the_top))
        details = {
            "candidates": [len(rows) for rows in allowed],
            "ranks": [{str(layer): span.rank for layer, span in batch.spans.items()} for batch in batches],
            "clean": [batch.clean for batch in batches],
        }
        if any(batch.sigma for batch in batches):
            details["noise"] = [batch.sigma for batch in batches]
        if any(batch.faint for batch in batches):
            details["faint"] = [batch.faint for batch in batches]
        return Readings(readings=readings, details=details)


class _Batch:
    """What one update says by itself."""

    def __init__(self, seen: SeenUpdates, number: int, rows: bool):
        update, self.size = seen[number], seen.batch
        gradients = {layer: tensor(update, f"layer.{layer}.down.weight") for layer in _layers(seen)}
        self.spans = {layer: span_of(gradient) for layer, gradient in gradients.items()}
        self.top = gradients[max(gradients)]
        self.sigma = noise.level(self.top)
        """standard deviation of the noise on it"""
        self.longest, self.tokens = seen.max_length, None
        self.difference, self.faint = seen.difference, 0
        self.partial = False
        """some of the words are hidden, by noise or because small entries were dropped"""
        self.clean: bool | None = None
        """no dropout was on; None where that cannot be told"""
        if rows and WORDS in seen.shared:
            count = seen.shared[WORDS][0]
            self.tokens, self.partial = touched(update, WORDS, count), hidden(update, WORDS, count)
            if not self.partial:
                self.longest = longest(seen, update)
        if seen.lowest == 0:
            self._look(seen, span_of(tensor(update, "layer.0.qkv.weight")))

    @property
    def measured(self) -> list[int]:
        """Layers to whose spans distances are asked for: under noise the top one's."""
        return [max(self.spans)] if self.sigma else sorted(self.spans)

    @property
    def rounded(self) -> bool:
        """Nothing but rounding is between the gradient and its inputs, as far as this can be told."""
        return not (self.sigma or self.partial or self.difference or self.clean is False)

    def _look(self, seen: SeenUpdates, first: Span) -> None:
        """At the inputs of the first layer, which are words at places."""
        if first.whole:
            return
        architecture = seen.architecture
        places = min(self.longest, architecture.positions)
        # [CLS] and a sample of all words tell whether dropout was on.
        some = np.concatenate([[seen.tokenizer.frame[0]], np.arange(0, seen.tokenizer.size, SAMPLE)])
        sample = words_of.distances(first, seen.weights, architecture.offset, places, architecture.eps, some)
        self.clean = bool(sample[0, 0] <= CLEAN * np.median(sample))
        if self.tokens is None and self.clean:
            found = words_of.distances(first, seen.weights, architecture.offset, places, architecture.eps)
            chosen = words_of.in_span(found, first)
            self.tokens = chosen if len(chosen) else None

    def fitting(self, ids: Sequence[Ints]) -> Ints:
        """Rows of the sentences that have no other words, unless some are hidden, and are no longer."""
        lengths = np.array([len(one) for one in ids])
        fits = lengths <= self.longest
        if self.tokens is not None and not self.partial:
            flat = np.concatenate(ids)
            inside = np.zeros(int(flat.max()) + 1, dtype=bool)
            inside[self.tokens[self.tokens < len(inside)]] = True
            known = np.add.reduceat(inside[flat], np.concatenate([[0], np.cumsum(lengths)[:-1]]), dtype=np.int64)
            fits &= known == lengths
        return np.flatnonzero(fits)

    def named(
        self,
        ids: Sequence[Ints],
        rows: Ints,
        distances: dict[int, tuple[Values, Values]],
        at_the_top: Callable[[Ints], Floats],
    ) -> Reading:
        """`distances` and energies of the candidates `rows`, by layer; `at_the_top` has the inputs of some in the top
        one."""
        top = max(self.spans)
        chosen, sure = np.zeros(len(rows), dtype=bool), False
        if len(rows):
            chosen = members(distances[top][0], self.size, self.spans[top].floor)
            sure = bool(chosen.sum() == self.size)
            if self.rounded and chosen.sum() < self.size:
                some = np.argsort(distances[top][0], kind="stable")[:NEAREST]
                found = faint.explaining(self.top, at_the_top(rows[some]), np.flatnonzero(chosen[some]), self.size)
                chosen[some[found]], self.faint = True, len(found)
            if not chosen.any() and self.sigma:
                chosen[noise.explaining(self.top, at_the_top(rows), self.sigma, self.size)] = True
            elif not chosen.any() and not self.clean:
                scores = self._scores({layer: energy for layer, (_, energy) in distances.items()})
                chosen[cover([ids[i] for i in rows], self.tokens, scores, min(self.size, len(rows)))] = True
                if self._missing(ids, rows[chosen]) > MISSING:  # the batch is of sentences that the corpus has not
                    chosen[:] = False
        sentences = [ids[i].tolist() for i in rows[chosen]]
        return Reading(sentences, None if self.tokens is None else self.tokens.tolist(), sure)

    def _missing(self, ids: Sequence[Ints], rows: Ints) -> float:
        """Share of the batch's words that these sentences do not have."""
        if self.tokens is None:
            return 0.0
        return 1 - float(np.isin(self.tokens, np.concatenate([ids[i] for i in rows])).mean())

    def _scores(self, energies: dict[int, Values]) -> Values:
        """The layer in which the nearest ones stand out most."""

        def apart(energy: Values) -> float:
            order = np.sort(energy)[::-1]
            rest = order[self.size :] if len(order) > self.size + 1 else order
            return float((order[: self.size].mean() - rest.mean()) / (rest.std() or 1.0))

        return max(energies.values(), key=apart)


def _layers(seen: SeenUpdates) -> list[int]:
    """The layers whose feed-forward gradient is sent and looked at: the lowest and the top one."""
    if seen.lowest is None:
        return []
    return sorted({seen.lowest, seen.architecture.layers - 1})


def _distinct(ids: list[list[int]], types: list[list[int]]) -> tuple[list[Ints], list[list[int]]]:
    """Sentences of the corpus that differ in their tokens."""
    first = {(tuple(one), tuple(kind)): at for at, (one, kind) in enumerate(zip(ids, types, strict=True))}
    rows = sorted(first.values())
    return [np.array(ids[i], dtype=np.int64) for i in rows], [types[i] for i in rows]


def _distances(
    view: View,
    seen: SeenUpdates,
    batches: Sequence[_Batch],
    ids: Sequence[Ints],
    types: Sequence[Sequence[int]],
    allowed: Sequence[Ints],
) -> tuple[list[dict[int, tuple[Values, Values]]], Floats | None]:
    """For each batch and layer the distances and the energies of its candidates, means over the tokens of each; where
    an update is noisy also the top layer's inputs of all candidates, 6 KiB each with MiniLM.

    A sentence that is a candidate of several batches is run once.
    """
    wanted = sorted(batches[0].spans)
    union = np.unique(np.concatenate(allowed))
    kept = np.empty((len(union), batches[0].top.shape[1]), np.float32) if any(b.sigma for b in batches) else None
    found = [
        {layer: (np.empty(len(rows)), np.empty(len(rows))) for layer in batch.measured}
        for batch, rows in zip(batches, allowed, strict=True)
    ]
    done = 0
    for some in blocks([len(ids[i]) for i in union]):
        rows = union[some]
        states = inner(
            seen.weights, seen.architecture, [ids[i].tolist() for i in rows], [types[i] for i in rows], wanted
        )
        if kept is not None:
            kept[some] = states[wanted[-1]]
        owner = np.repeat(np.arange(len(rows)), [len(ids[i]) for i in rows])
        for batch, mine, into in zip(batches, allowed, found, strict=True):
            here = np.flatnonzero(np.isin(rows, mine))
            place = np.searchsorted(mine, rows[here])
            for layer in batch.measured:
                whole = len(states[layer]) == len(owner)
                tokens = np.isin(owner, here) if whole else here
                of = owner[tokens] if whole else here
                measures = _both(batch.spans[layer], states[layer][tokens])
                for column, values in zip(into[layer], measures, strict=True):
                    total = np.bincount(of, values, minlength=len(rows)) / np.maximum(
                        np.bincount(of, minlength=len(rows)), 1
                    )
                    column[place] = total[here]
        done += len(rows)
        view.stage(f"{done:,} of {len(union):,} candidate sentences")
    return found, kept


def _at_the_top(seen: SeenUpdates, ids: Sequence[Ints], types: Sequence[Sequence[int]], rows: Ints) -> Floats:
    """The inputs of some sentences in the top layer."""
    top = seen.architecture.layers - 1
    found = np.empty((len(rows), seen.shared[f"layer.{top}.down.weight"][1]), np.float32)
    for some in blocks([len(ids[i]) for i in rows]):
        here = rows[some]
        tokens, kinds = [ids[i].tolist() for i in here], [types[i] for i in here]
        found[some] = inner(seen.weights, seen.architecture, tokens, kinds, [top])[top]
    return found


def _both(span: Span, inputs: Floats) -> tuple[Values, Values]:
    return span.distance(inputs), span.energy(inputs)
