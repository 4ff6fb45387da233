"""What an attack named out of a corpus, or rebuilt as vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bench.arrays import Ints
from bench.scoring.table import metric
from bench.types import Key

if TYPE_CHECKING:
    from bench.scoring.similarity import Comparison

NOTHING = -1
"""in place of a text number or a corpus row: no answer, or a text outside the corpus"""

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Answers:
    """What was named for each released item: numbers of texts, which are equal for equal texts. A copy is as good."""

    named: Ints
    """items × t, best first"""
    private: Ints
    """of the private examples"""
    corpus: Ints
    """of the corpus rows"""
    key: Key


@dataclass(frozen=True)
class Matching:
    """Each private example beside the one reconstruction that a one-to-one matching gives it, if there is one."""

    cosine: Values
    error: Values


@dataclass(frozen=True)
class Sentences:
    """Numbers of texts, as in Answers."""

    nearest: Ints
    """the corpus sentence nearest to the reconstruction that is matched to each example; NOTHING without one"""
    private: Ints
    """of the examples"""


@metric("cosine", of="vectors", title="cosine of reconstructed and private vectors", order=110)
def cosine(matching: Matching) -> Values:
    """Cosine of an example's vector and the reconstruction matched to it; 0 for an example without one."""
    return matching.cosine


@metric(
    "jaccard",
    of="texts",
    title="share of words that the first answer has in common with the sentence",
    order=20,
    share=True,
)
def jaccard(texts: Comparison) -> Values:
    """Words in both texts / words in either (`\\w+`, lower case). TextHide calls it JCdist; it is a similarity."""
    both, either = texts.words()
    return np.where(either > 0, both / np.maximum(either, 1), texts.same)


@metric("tfidf", of="texts", title="cosine of the two sentences' tf-idf vectors", order=30)
def tfidf(texts: Comparison) -> Values:
    """Cosine of the two texts' TF-IDF vectors, fitted on the corpus."""
    return texts.tfidf()


@metric(
    "sbert",
    of="texts",
    title="cosine of the two sentences' sentence-BERT vectors: how close they are in meaning",
    order=50,
)
def sbert(texts: Comparison) -> Values:
    """Cosine of the two texts' all-MiniLM-L6-v2 sentence embeddings: how alike they are in meaning."""
    return texts.sbert()


@metric(
    "label", of="texts", title="share of encodings whose first answer has the sentence's label", order=40, share=True
)
def label(texts: Comparison) -> Values:
    """1 if the first answer has the example's label; scores agree if they round to the same whole number."""
    return texts.same_label.astype(np.float64)


@metric(
    "identity",
    of="ranking",
    title="share of encodings whose first answer is the very sentence the encoding belongs to",
    order=10,
    share=True,
)
def identity(answers: Answers) -> Values:
    """1 if the first answer is the text of the item's own example; on a mix of k at most 1/k on average, because
    nothing marks which of the k an item belongs to."""
    right: Flags = answers.named[:, 0] == answers.private[answers.key.owner]
    return right.astype(np.float64)


@metric(
    "identity",
    of="sentences",
    title="share of encodings whose first answer is the very sentence the encoding belongs to",
    order=10,
    share=True,
)
def matched_identity(sentences: Sentences) -> Values:
    """Of vectors: 1 if the corpus sentence nearest to the matched reconstruction is the example's text."""
    nearest = sentences.nearest
    right: Flags = (nearest != NOTHING) & (nearest == sentences.private)
    return right.astype(np.float64)


@metric(
    "hit",
    of="ranking",
    title="share of encodings whose first answer is one of the sentences mixed into it",
    order=60,
    share=True,
)
def hit(answers: Answers) -> Values:
    """1 if the first answer is any of the private texts in the mix: recall at one."""
    return _inside(answers).astype(np.float64)


@metric(
    "recall",
    of="ranking",
    title="share of all sentences mixed into an encoding that are among the first k answers",
    order=70,
    share=True,
    leak=True,
)
def recall(answers: Answers) -> Values:
    """Share of the different private texts in the mix that are among the first k answers. With a coverage below 1,
    only texts that the corpus holds count."""
    return share_named(answers, answers.corpus)


@metric(
    "success",
    of="ranking",
    title="share of the private examples that are recovered",
    order=80,
    share=True,
    per="example",
)
def success(answers: Answers) -> Values:
    """Share of the private examples that are recovered. By a ranking: most of the items that name it first do contain
    it."""
    right = _inside(answers)
    first, private = answers.named[:, 0], answers.private
    size = int(max(private.max(), first.max())) + 1
    valid = first != NOTHING
    named = np.bincount(first[valid], minlength=size)
    correct = np.bincount(first[valid & right], minlength=size)
    return (2 * correct[private] > named[private]).astype(np.float64)


@metric(
    "success", of="sentences", title="share of the private examples that are recovered", order=80, share=True, leak=True
)
def matched_success(sentences: Sentences) -> Values:
    """By vectors: matched one to one by the Hungarian method on cosine, the reconstruction's nearest corpus sentence
    is its text."""
    return matched_identity(sentences)


@metric("error", of="vectors", title="relative error of the reconstructed vectors", order=120, worst=1.0)
def error(matching: Matching) -> Values:
    """‖x̂ − x‖ / ‖x‖ of an example's vector x and the reconstruction matched to it; 1 for an example without one."""
    return matching.error


def share_named(answers: Answers, counted: Ints | None) -> Values:
    """Share of the different private texts in each mix that are among its first k answers.

    With `counted`, other texts, which the attacker could not name, do not count; a mix without any of them is NaN.
    """
    key, named = answers.key, answers.named
    k = key.members.shape[1]
    mixed = np.where(key.members < 0, NOTHING, answers.private[np.maximum(key.members, 0)])
    hits, total = np.zeros(len(mixed)), np.zeros(len(mixed))
    for j in range(k):
        slot = mixed[:, j]
        counts = (slot != NOTHING) & ~(mixed[:, :j] == slot[:, None]).any(axis=1)
        if counted is not None:
            counts &= np.isin(slot, counted)
        total += counts
        hits += counts & (named[:, :k] == slot[:, None]).any(axis=1)
    share: Values = np.divide(hits, total, out=np.full(len(mixed), np.nan), where=total > 0)
    return share


def _inside(answers: Answers) -> npt.NDArray[np.bool_]:
    """Whether each item's first answer is one of the private texts that it mixes."""
    key, first = answers.key, answers.named[:, 0]
    inside: npt.NDArray[np.bool_] = ((answers.private[key.members] == first[:, None]) & (key.members >= 0)).any(axis=1)
    return inside
