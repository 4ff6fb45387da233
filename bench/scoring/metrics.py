"""The metrics, one decorated function each; adding one here is all that it takes, besides its test and docs/metrics.md.

New ones go last: intervals draw their random numbers in the order of this file, so that a metric further up would move
those below it. A metric's docstring is what readers are told of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from bench.arrays import Ints
from bench.scoring.table import METRICS, metric
from bench.types import Key

if TYPE_CHECKING:
    from bench.scoring.similarity import Comparison

__all__ = ["METRICS"]

NOTHING = -1
"""in place of a text number or a corpus row: no answer, or a text outside the corpus"""
# TextHide, section 4.3: an attack succeeds if the mean squared error is at most this, for pixels in [0, 1].
SUCCESS = 1e-3
# The least error that PSNR tells from none at all: 80 dB.
LEAST = 1e-8

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


@dataclass(frozen=True)
class ImageErrors:
    """How far the recovered images are from the private ones."""

    own: Values
    """mean squared error of each item's own image, matched one to one where several were guessed"""
    recovered: Values | None
    """share of the different images of each mix that some guess recovers; None where guesses belong to no mix"""
    finite: npt.NDArray[np.bool_]
    ssim: Values
    """structural similarity to each item's own image"""


@dataclass(frozen=True)
class NamedImages:
    """Which image of the attacker's candidates each recovered one is nearest to."""

    right: npt.NDArray[np.bool_]
    """it is the item's own"""


@dataclass(frozen=True)
class Recovered:
    """Each private sentence beside the one that a one-to-one matching inside its batch gives it, if there is one."""

    same: Flags
    """the two have the same tokens in the same order"""
    tokens: Values
    """F1 of the tokens that the two have in common"""
    words: Values
    """sentences × 3: F1 of common words, of common pairs of words, and of the longest common subsequence of words"""


@dataclass(frozen=True)
class BatchReading:
    """What was read of each batch."""

    named: Ints
    """sentences"""
    right: Ints
    """of these, how many are in the batch"""
    found: Values
    """share of the batch's different tokens that were found"""
    true: Values
    """share of the tokens that were named which the batch has"""
    certified: Flags
    """the attack holds that it has all, and nothing else"""


@dataclass(frozen=True)
class Writing:
    """Each private sentence beside the text that was written for it."""

    SHORT: ClassVar[int] = 12
    """words of a sentence that is called short, at most"""
    same: Flags
    """the same words and signs in the same order, case and spacing aside"""
    common: Values
    """F1 of the words and signs that the two have in common"""
    words: Values
    """sentences × 3, as in Recovered"""
    bleu: Values
    sbert: Values
    named: Values
    """share of the sentence's names and numbers that were written; NaN without any"""
    short: Flags


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


@metric(
    "recall", of="images", title="share of the images mixed into an encoding that are recovered", order=70, share=True
)
def image_recall(images: ImageErrors) -> Values:
    """Of images: share of the different images in a mix that some guess recovers."""
    assert images.recovered is not None
    return np.where(images.finite, images.recovered, 0.0)


@metric(
    "success", of="images", title="share of the private examples that are recovered", order=80, share=True, leak=True
)
def image_success(images: ImageErrors) -> Values:
    """By images: the mean squared error is at most 0.001 for pixels in [0, 1]."""
    return ((images.own <= SUCCESS) & images.finite).astype(np.float64)


@metric("mse", of="images", title="mean squared error of the recovered images, per pixel", order=90)
def mse(images: ImageErrors) -> Values:
    """Mean squared error of the recovered image, for pixels in [0, 1]; what is not finite counts as black."""
    return images.own


@metric("psnr", of="images", title="peak signal-to-noise ratio of the recovered images, in dB", order=100)
def psnr(images: ImageErrors) -> Values:
    """10 · log₁₀(1 / mean squared error), at most 80 dB."""
    return -10 * np.log10(np.maximum(images.own, LEAST))


@metric("ssim", of="images", title="structural similarity of the recovered images", order=105)
def ssim(images: ImageErrors) -> Values:
    """Mean structural similarity of the recovered image (scikit-image's window of 7 × 7 and constants, pixels in
    [0, 1], mean over channels); what is not finite counts as black, an image without an answer as 0."""
    return np.where(images.finite, images.ssim, 0.0)


@metric(
    "identity",
    of="candidates",
    title="share of encodings whose first answer is the very sentence the encoding belongs to",
    order=10,
    share=True,
)
def image_identity(named: NamedImages) -> Values:
    """Of images: 1 if of all candidates the image itself is nearest to the recovered one, in squared error."""
    return named.right.astype(np.float64)


@metric(
    "exact",
    of="recovered",
    title="share of the private sentences that are recovered token by token",
    order=130,
    share=True,
    leak=True,
)
def exact(recovered: Recovered) -> Values:
    """1 if the sentence that is matched to it has the same tokens in the same order, as they entered the model."""
    return recovered.same.astype(np.float64)


@metric("token_f1", of="recovered", title="F1 of the tokens that a sentence and its match share", order=131, share=True)
def token_f1(recovered: Recovered) -> Values:
    """2 · common tokens / all tokens of a sentence and its match, special ones left out; 0 without a match. Sentences
    of a batch are matched one to one by the Hungarian method on this measure."""
    return recovered.tokens


@metric("rouge1", of="recovered", title="ROUGE-1 of a sentence and its match", order=132, share=True)
def rouge1(recovered: Recovered) -> Values:
    """F1 of the words (letters and digits, lower case) that a sentence and its match share."""
    return recovered.words[:, 0]


@metric("rouge2", of="recovered", title="ROUGE-2 of a sentence and its match", order=133, share=True)
def rouge2(recovered: Recovered) -> Values:
    """F1 of the pairs of neighbouring words that they share."""
    return recovered.words[:, 1]


@metric("rougeL", of="recovered", title="ROUGE-L of a sentence and its match", order=134, share=True)
def rouge_l(recovered: Recovered) -> Values:
    """F1 of the longest common subsequence of words."""
    return recovered.words[:, 2]


@metric("tokens", of="batches", title="share of a batch's different tokens that are found", order=135, share=True)
def tokens(batches: BatchReading) -> Values:
    """Share of a batch's different tokens, special ones left out, among those that were named: by the attack's own
    list of words, or by its sentences."""
    return batches.found


@metric("precision", of="batches", title="share of the named tokens that are in the batch", order=136, share=True)
def precision(batches: BatchReading) -> Values:
    """Share of the different tokens named which the update was made from, public sentences included; 1 where none was
    named."""
    return batches.true


@metric("false", of="batches", title="share of the named sentences that are not in the batch", order=137, share=True)
def false(batches: BatchReading) -> Values:
    """Share of the named sentences that are not in the batch, nor among public ones that are mixed in; 0 where none was
    named."""
    wrong: Values = (batches.named - batches.right) / np.maximum(batches.named, 1)
    return wrong


@metric(
    "certified", of="batches", title="share of the batches that the attack holds to be complete", order=138, share=True
)
def certified(batches: BatchReading) -> Values:
    """Share of the batches of which the attack says that nothing is missing and nothing wrong."""
    return batches.certified.astype(np.float64)


@metric(
    "exact",
    of="written",
    title="share of the private sentences that are recovered token by token",
    order=130,
    share=True,
    leak=True,
)
def written_exact(writing: Writing) -> Values:
    """Of free text: 1 if it has the sentence's words and signs in their order, case and spacing aside."""
    return writing.same.astype(np.float64)


@metric(
    "exact_short",
    of="written",
    title="share of the private sentences of at most 12 words that are recovered word by word",
    order=141,
    share=True,
)
def written_exact_short(writing: Writing) -> Values:
    """`exact` of the sentences of at most 12 words; the others do not count."""
    return np.where(writing.short, writing.same.astype(np.float64), np.nan)


@metric("token_f1", of="written", title="F1 of the tokens that a sentence and its match share", order=131, share=True)
def written_f1(writing: Writing) -> Values:
    """Of free text: 2 · common words and signs / all of the two, each as often as it occurs."""
    return writing.common


@metric("rouge1", of="written", title="ROUGE-1 of a sentence and its match", order=132, share=True)
def written_rouge1(writing: Writing) -> Values:
    """F1 of the words (letters and digits, lower case) that a sentence and its match share."""
    return writing.words[:, 0]


@metric("rouge2", of="written", title="ROUGE-2 of a sentence and its match", order=133, share=True)
def written_rouge2(writing: Writing) -> Values:
    """F1 of the pairs of neighbouring words that they share."""
    return writing.words[:, 1]


@metric("rougeL", of="written", title="ROUGE-L of a sentence and its match", order=134, share=True)
def written_rouge_l(writing: Writing) -> Values:
    """F1 of the longest common subsequence of words."""
    return writing.words[:, 2]


@metric("bleu", of="written", title="BLEU of a sentence and the text written for it", order=139, share=True)
def bleu(writing: Writing) -> Values:
    """Sentence BLEU of words and signs up to runs of four, one added to the counts of runs longer than a word."""
    return writing.bleu


@metric(
    "sbert",
    of="written",
    title="cosine of the two sentences' sentence-BERT vectors: how close they are in meaning",
    order=50,
)
def written_sbert(writing: Writing) -> Values:
    """Of free text: 0 where nothing was written."""
    return writing.sbert


@metric("named", of="written", title="share of a sentence's names and numbers that are found", order=140, share=True)
def named(writing: Writing) -> Values:
    """Share of the different capitalised words, the first word aside, and numbers of a sentence that the text written
    for it has, in any case; sentences without any do not count."""
    return writing.named


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
