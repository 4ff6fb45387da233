"""The stages of `unmix`: learn the scheme, prepare candidates, decode, decode again with what was learnt, answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import Tensor

from bench import Guess, Ints, View
from bench.attacks.common.scheme import Scheme, clipped, learn, public_corpus
from bench.attacks.unmix.decode import Decoded, decode
from bench.attacks.unmix.dictionary import Dictionary, distinct
from bench.attacks.unmix.pool import shared_masks, shared_sentences
from bench.errors import BenchError

# Sentences that the scheme is tried on: as many as there are encodings, within these bounds.
FEWEST, LARGEST = 64, 1024
# Slots tried where the number of mixed sentences is unknown.
MOST = 12
# The relative residual at which a decoding is as likely wrong as right. Right ones measure 1e-7; one that lacks a
# sentence of weight 1e-4 measures about 5e-5.
HALF = 1e-5
# The chance above which a candidate may be named first for the sake of naming every example once.
TRUSTED = 0.99


@dataclass(frozen=True)
class Candidates:
    """Distinct candidates and where they stand in the corpus."""

    dictionary: Dictionary
    rows: Ints
    """first row of each candidate; -1 for a public sentence"""
    twin: Ints
    """a row with another text and the same vector, such as one that differs in capitals; -1: none"""
    alike: Ints
    """how many texts share the vector"""
    noise: Tensor


def unmix(view: View, k: int | Literal["residual"], cycles: int, pool: bool, rng: np.random.Generator) -> Guess:
    view.stage("learning the scheme")
    encodings = np.asarray(view.encodings)
    scheme = learn_scheme(view, len(encodings), rng)
    view.stage("preparing the candidates")
    candidates = prepare(view, scheme)
    if candidates is None or not len(encodings):
        return _nothing(len(encodings), max(1, scheme.k), len(view.corpus.texts))
    job = Job(view.stage, scheme, candidates, candidates.dictionary.load(encodings), cycles)
    slots = scheme.k if k == 0 else k
    if slots == 0 or slots == "residual":
        slots, found = job.count()
    else:
        found = job.run("decoding", slots)
    start = job.start_anew(found) if scheme.masked else None
    if pool and len(encodings) > 1:
        job.pool(found, start)
    return answer(view, candidates, found, job.seen, slots)


@dataclass(frozen=True)
class Job:
    """What all passes over the encodings have in common."""

    stage: Callable[[str], None]
    scheme: Scheme
    candidates: Candidates
    seen: Tensor
    cycles: int

    def run(self, what: str, slots: int, rows: Tensor | None = None, cycles: int | None = None, **more: Any) -> Decoded:
        return decode(
            self.candidates.dictionary,
            self.seen if rows is None else self.seen[rows],
            slots,
            masked=self.scheme.masked,
            concentration=self.scheme.concentration,
            noise=self.candidates.noise,
            cycles=self.cycles if cycles is None else cycles,
            tell=lambda text: self.stage(f"{what}: {text}"),
            **more,
        )

    def count(self) -> tuple[int, Decoded]:
        """Decode without knowing k: first with slots to spare, then what that left with as many as it showed."""
        found = self.run("counting", MOST, cycles=0)
        slots = count_mixed(found)
        found = found.heaviest(slots)
        rest = _open(found)
        found.put(rest, self.run("decoding", slots, rows=rest))
        return slots, found

    def start_anew(self, found: Decoded) -> Tensor:
        """Decode what is left from another start: the candidate nearest in magnitudes.

        Sign recovery alone starts from the mean; where that is weak it may settle on a wrong pattern. Answers which
        start helped each encoding, -1 for none.
        """
        start = torch.full_like(found.support[:, 0], -1)
        rest = _open(found)
        if not len(rest):
            return start
        nearest = self.candidates.dictionary.by_magnitude(self.seen, rest)
        again = self.run("starting from magnitudes", found.support.shape[1], rows=rest, start=nearest)
        if self.scheme.noise:
            helped = again.certainty.sum(1) > found.certainty[rest].sum(1)
        else:
            helped = again.residual < 0.9 * found.residual[rest]
        better = torch.nonzero(helped)[:, 0]
        found.put(rest[better], again.take(better))
        start[rest[better]] = nearest[better]
        return start

    def pool(self, found: Decoded, start: Tensor | None) -> None:
        """Decode what is left with what the encodings say of each other."""
        rest = _open(found)
        if not len(rest):
            return
        self.stage("pooling what the encodings share")
        prior = shared_sentences(found, len(self.candidates.dictionary)).take(rest)
        field = None
        if self.scheme.pooled:
            field = shared_masks(
                self.candidates.dictionary,
                self.seen,
                rest,
                self.scheme.masks,
                self.scheme.concentration,
                self.candidates.noise,
            )
        begin = None if start is None else start[rest]
        slots = found.support.shape[1]
        found.put(rest, self.run("pooling", slots, rows=rest, prior=prior, field=field, start=begin))


def learn_scheme(view: View, count: int, rng: np.random.Generator) -> Scheme:
    """From a release of corpus sentences, about as many as there are encodings: a scheme may fit its noise to them."""
    vectors = np.asarray(view.corpus.vectors)
    rows = rng.permutation(len(vectors))[: min(max(count, FEWEST), LARGEST)]
    try:
        return learn(view, vectors[rows], np.zeros((len(rows), 1), np.float32), rng)
    except BenchError:  # such as a corpus with fewer sentences than a mix holds
        return Scheme.of_options(view.defense.options)


def _open(found: Decoded) -> Tensor:
    return torch.nonzero(~found.exact)[:, 0]


def prepare(view: View, scheme: Scheme) -> Candidates | None:
    """The dictionary of the corpus and, where the scheme mixes it in and it is known, of the public corpus."""
    texts, vectors = list(view.corpus.texts), clipped(np.asarray(view.corpus.vectors), scheme)
    own = len(texts)
    public = public_corpus(view) if scheme.public else None
    if public is not None:
        texts += public.texts
        vectors = np.concatenate([vectors, clipped(np.asarray(public.vectors), scheme)])
    head = distinct(texts, vectors)
    rows = np.unique(head)
    vectors = vectors[rows]
    deviation = vectors.std(axis=0, dtype=np.float64)
    keep = deviation > 1e-5 * deviation.max(initial=0.0)
    if len(rows) < 2 or not keep.any():
        return None
    # Each coordinate in units of how far an encoding strays on it, noise included: noise then weighs alike on all.
    spread = np.sqrt(deviation**2 + scheme.noise / scheme.concentration)
    dictionary = Dictionary(vectors, spread.astype(np.float32), keep, view.device)
    noise = scheme.noise / dictionary.scale.square()
    first = {text: row for row, text in reversed(list(enumerate(texts)))}
    others = np.array([row for row in first.values() if head[row] != row and row < own], dtype=np.int64)
    twin = np.full(len(head), -1)
    twin[head[others]] = others
    alike = 1 + np.bincount(head[others], minlength=len(head))
    return Candidates(dictionary, np.where(rows < own, rows, -1), twin[rows], alike[rows], noise)


def count_mixed(found: Decoded) -> int:
    """k by the residual: the largest size that at least one in fifty of the exact decodings has.

    Mixes with fixed points are smaller than k, and none is larger. Where nothing is exact (noise, or a corpus that
    lacks too much), as many as are more likely right than wrong.
    """
    exact = found.exact
    if bool(exact.any()):
        sizes = (found.weights[exact] > 0).sum(1)
        share = torch.bincount(sizes, minlength=2).double() / len(sizes)
        return max(1, int(torch.nonzero(share >= 0.02).max()))
    held = (found.certainty > 0.5).sum(1).double()
    return max(1, round(float(held.mean())))


def confidence(found: Decoded, seen: Tensor, candidates: Candidates) -> Tensor:
    """How likely each decoding is to be complete and right.

    Without noise the residual alone decides. With noise it says only whether something is missing; each sentence must
    also stand out among all that could take its place.
    """
    size = seen.square().sum(1)
    expected = candidates.noise.sum() / size.clamp_min(1e-30)
    slack = 1 + 3 * math.sqrt(2 / seen.shape[1])
    excess = (found.residual.square() - slack * expected).clamp_min(0).sqrt()
    fits = 1 / (1 + excess / (HALF + expected.sqrt()))
    fits = torch.where((size > 0) & found.residual.isfinite(), fits, 0.0)
    # Of texts with one vector between them, one is named and any may be right.
    alike = torch.as_tensor(candidates.alike, device=seen.device)[found.support.clamp_min(0)]
    fits = fits / torch.where(found.weights > 0, alike, 1).prod(1)
    return fits * found.certainty.prod(1) if bool(candidates.noise.any()) else fits


def likeliest(found: Decoded) -> tuple[Tensor, Tensor]:
    """As many candidates per encoding as it has slots, and the chance of each.

    An exact decoding is named as it is, by falling weight. Otherwise a candidate's chance is the sum of its
    probabilities over the slots: the runner-up of one slot may well be likelier than the first choice of another.
    """
    count, slots = found.support.shape
    chance = torch.where(found.runners >= 0, found.odds, -1.0).reshape(count, -1)
    # Weights break ties; unfilled slots of an exact decoding are no answer.
    chance = chance + 1e-4 * found.weights.repeat_interleave(found.odds.shape[2], 1)
    name = found.runners.reshape(count, -1)
    result = torch.full_like(found.support, -1)
    value = torch.zeros_like(found.weights)
    for at in range(0, count, 4096):
        rows = slice(at, at + 4096)
        same = name[rows, :, None] == name[rows, None, :]
        total = (same * chance[rows, None, :]).sum(2)
        again = same.tril(-1).any(2)
        total[again | (name[rows] < 0)] = -1
        order = total.argsort(dim=1, descending=True, stable=True)[:, :slots]
        result[rows], value[rows] = name[rows].gather(1, order), total.gather(1, order)
    weight, order = found.weights.sort(dim=1, descending=True, stable=True)
    plain = torch.where(weight > 0, found.support.gather(1, order), -1)
    exact = found.exact[:, None]
    return torch.where(exact, plain, result), torch.where(exact, 1.0, value)


def answer(view: View, candidates: Candidates, found: Decoded, seen: Tensor, slots: int) -> Guess:
    """Corpus rows; places left over go to twins of those named, then to sentences that many encodings hold."""
    sure = confidence(found, seen, candidates).cpu().numpy().astype(np.float32)
    weights = found.weights.cpu().numpy()
    ranked, chance = (part.cpu().numpy() for part in likeliest(found))
    # Without noise, what is not exact lacks a sentence, and something takes its place with false certainty.
    trusted = (chance > TRUSTED) & (found.exact.cpu().numpy()[:, None] | bool(candidates.noise.any()))
    ranked = owners_first(ranked, trusted)
    named = np.where(ranked >= 0, candidates.rows[ranked], -1)
    twins = np.where(ranked >= 0, candidates.twin[ranked], -1)
    rows = np.concatenate([named, twins], axis=1)
    rows = np.take_along_axis(rows, np.argsort(rows < 0, axis=1, kind="stable"), axis=1)[:, : named.shape[1]]
    common = np.bincount(rows[rows >= 0], minlength=len(view.corpus.texts))
    ranking = fill(rows, np.argsort(-common, kind="stable"))
    exact = found.exact.cpu().numpy()
    sizes = np.bincount((weights[exact] > 0).sum(1), minlength=slots + 1)
    details = {
        "k": int(slots),
        "candidates": len(candidates.dictionary),
        "exact": float(exact.mean()),
        "median residual": float(np.median(found.residual.cpu().numpy())),
        "sizes of exact mixes": {str(size): int(count) for size, count in enumerate(sizes) if count},
    }
    return Guess(ranking=ranking, confidence=sure, details=details)


def owners_first(ranked: Ints, trusted: npt.NDArray[np.bool_]) -> Ints:
    """Reorder each row so that as many different trusted candidates as possible come first somewhere.

    Each encoding belongs to one example, and each example has one in every epoch, but nothing in the encoding says
    which of its sentences that is. A matching names every example once where weights alone would pass over the
    light ones. Only the order inside a row changes.
    """
    count, width = ranked.shape
    valid = (ranked >= 0) & trusted
    shape = (count, int(ranked.max(initial=0)) + 1)
    where = np.repeat(np.arange(count), width).reshape(ranked.shape)
    graph = csr_matrix((np.ones(int(valid.sum()), np.int8), (where[valid], ranked[valid])), shape=shape)
    match = maximum_bipartite_matching(graph, perm_type="column")
    order = np.argsort(ranked != match[:, None], axis=1, kind="stable")
    return np.take_along_axis(ranked, order, axis=1)


def fill(rows: Ints, spare: Ints) -> Ints:
    """Replace each -1 by the first of `spare` that the row does not name yet."""
    width = rows.shape[1]
    spare = spare[: 2 * width]
    if len(spare) < width:  # a corpus smaller than a mix: repeat it
        spare = np.resize(spare, 2 * width)
    fresh = ~(spare[None, :, None] == rows[:, None, :]).any(2)
    take = np.argsort(~fresh, axis=1, kind="stable")[:, :width]
    place = np.cumsum(rows < 0, axis=1) - 1
    filler = np.take_along_axis(spare[take], np.maximum(place, 0), axis=1)
    return np.where(rows < 0, filler, rows)


def _nothing(n: int, width: int, corpus: int) -> Guess:
    """No candidate differs from another: any answer is as good."""
    row: npt.NDArray[np.int64] = np.resize(np.arange(max(corpus, 1)), width)
    return Guess(ranking=np.tile(row, (n, 1)), confidence=np.zeros(n, np.float32), details={"exact": 0.0})
