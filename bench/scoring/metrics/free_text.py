"""Sentences that an attack wrote itself: read out of updates, or out of encodings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bench.arrays import Ints
from bench.scoring.table import metric

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


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
@metric("rouge1", of="written", title="ROUGE-1 of a sentence and its match", order=132, share=True)
def rouge1(sentences: Recovered | Writing) -> Values:
    """F1 of the words (letters and digits, lower case) that a sentence and its match share."""
    return sentences.words[:, 0]


@metric("rouge2", of="recovered", title="ROUGE-2 of a sentence and its match", order=133, share=True)
@metric("rouge2", of="written", title="ROUGE-2 of a sentence and its match", order=133, share=True)
def rouge2(sentences: Recovered | Writing) -> Values:
    """F1 of the pairs of neighbouring words that they share."""
    return sentences.words[:, 1]


@metric("rougeL", of="recovered", title="ROUGE-L of a sentence and its match", order=134, share=True)
@metric("rougeL", of="written", title="ROUGE-L of a sentence and its match", order=134, share=True)
def rouge_l(sentences: Recovered | Writing) -> Values:
    """F1 of the longest common subsequence of words."""
    return sentences.words[:, 2]


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
