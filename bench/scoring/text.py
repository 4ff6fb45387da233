"""Scores a guess against the key: the five metrics of TextHide, recall and success, beside random guessing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from bench.arrays import Floats, Ints
from bench.scoring.intervals import mean_interval
from bench.scoring.similarity import NAMES, Similarity
from bench.scoring.truth import Truth
from bench.toolkit.search import nearest, unit
from bench.types import Guess, Key

# Corpus sentences and examples that stand for all others when the random level of the text metrics is measured.
SAMPLE = 1000
# Random guessers simulated for the metrics that count rare hits.
GUESSERS = 200
# Blind attackers simulated for guesses of vectors, each of which needs a matching.
BLIND = 10
NOTHING = -1

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    metrics: dict[str, dict[str, float]]
    items: dict[str, Any]
    """per scored item: its example, the first answer, every metric"""
    facts: dict[str, Any]


def score(
    guess: Guess, truth: Truth, similarity: Similarity, rng: np.random.Generator, *, named: bool = True
) -> Scores:
    """`named=False` for attacks without a corpus, which are scored on vectors alone."""
    # Streams of their own: the random level must not depend on how many draws the intervals took.
    rng, chance = rng.spawn(2)
    if guess.vectors is not None:
        return _score_vectors(guess, truth, similarity, rng, chance, named)
    first, ranking = _answers(guess, truth)
    owner = truth.key.owner
    values = _texts(truth, similarity, owner, first, guess.texts)
    private, corpus = truth.text_numbers()
    answers = np.where(ranking == NOTHING, NOTHING, corpus[ranking])
    values["identity"] = (answers[:, 0] == private[owner]).astype(np.float64)
    values["hit"] = _inside(answers[:, 0], private, truth.key).astype(np.float64)
    values["recall"] = _recall(answers, private, corpus, truth.key)
    success = _recovered(answers[:, 0], private, truth.key)
    metrics = {name: _interval(value, owner, rng) for name, value in values.items()}
    metrics["success"] = _interval(success, np.arange(len(success)), rng)
    _add_random(metrics, truth, similarity, owner, chance)
    facts: dict[str, Any] = {}
    if guess.confidence is not None:
        facts["confidence_auc"] = _auc(_recall(answers, private, None, truth.key) == 1.0, guess.confidence)
        values["confidence"] = np.asarray(guess.confidence, dtype=np.float64)
    answer = list(guess.texts) if guess.texts is not None else [truth.corpus.texts[row] for row in first]
    return Scores(_ordered(metrics), _item_table(truth, owner, answer, values), facts)


def _score_vectors(
    guess: Guess,
    truth: Truth,
    similarity: Similarity,
    rng: np.random.Generator,
    chance: np.random.Generator,
    named: bool,
) -> Scores:
    """Each example is held against the one reconstruction that a one-to-one matching gives it, if there is one."""
    vectors = np.asarray(guess.vectors, dtype=np.float32)
    values, first = _matched(vectors, truth, similarity, named)
    metrics = {name: _interval(value, np.arange(len(value)), rng) for name, value in values.items()}
    # The matching uses the key, so a blind attacker profits from it too: he names as many corpus vectors at random.
    rows, count = len(truth.corpus.vectors), len(vectors)
    blind: dict[str, list[float]] = {name: [] for name in values}
    for _ in range(BLIND):
        drawn = chance.choice(rows, count, replace=count > rows)
        for name, value in _matched(truth.corpus.vectors[drawn], truth, similarity, named)[0].items():
            blind[name].append(float(value.mean()))
    for name, means in blind.items():
        metrics[name] |= {"random": float(np.mean(means)), "random_low": min(means), "random_high": max(means)}
    n = len(truth.vectors)
    answer = ["" if row == NOTHING else truth.corpus.texts[row] for row in first]
    items = _item_table(truth, np.arange(n), answer, {name: value[:n] for name, value in values.items()})
    return Scores(_ordered(metrics), items, {"reconstructed": count})


def _matched(vectors: Floats, truth: Truth, similarity: Similarity, named: bool) -> tuple[dict[str, Values], Ints]:
    """Values per example, and per reconstruction beyond their number: those count as wrong, or guessing the whole
    corpus would find everything."""
    cosine = unit(truth.vectors) @ unit(vectors).T
    example, match = linear_sum_assignment(-cosine)
    n = len(truth.vectors)
    cos, error = np.zeros(n), np.ones(n)
    cos[example] = cosine[example, match]
    gap = np.linalg.norm(truth.vectors[example] - vectors[match], axis=1)
    error[example] = gap / np.maximum(np.linalg.norm(truth.vectors[example], axis=1), 1e-12)
    values: dict[str, Values] = {"cosine": cos}
    first = np.full(n, NOTHING)
    if named:
        first[example] = nearest(vectors[match], truth.corpus.vectors)[:, 0]
        private, corpus = truth.text_numbers()
        values |= _texts(truth, similarity, np.arange(n), first, None)
        values["identity"] = ((first != NOTHING) & (corpus[first] == private)).astype(np.float64)
        values["success"] = values["identity"]
    surplus = max(0, len(vectors) - n)
    values = {name: np.concatenate([value, np.zeros(surplus)]) for name, value in values.items()}
    values["error"] = np.concatenate([error, np.ones(surplus)])
    return values, first


def _answers(guess: Guess, truth: Truth) -> tuple[Ints, Ints]:
    """The corpus row of the first answer, and all answers, to each item; NOTHING for a text outside the corpus."""
    if guess.texts is not None:
        row = {text: i for i, text in enumerate(truth.corpus.texts)}
        first = np.array([row.get(text, NOTHING) for text in guess.texts], dtype=np.int64)
        return first, first[:, None]
    ranking = np.asarray(guess.ranking, dtype=np.int64)
    return ranking[:, 0], ranking


def _texts(truth: Truth, similarity: Similarity, owner: Ints, first: Ints, texts: Any) -> dict[str, Values]:
    answer = texts if texts is not None else [truth.corpus.texts[row] for row in np.maximum(first, 0)]
    values = similarity.pairs([truth.private.texts[i] for i in owner], list(answer))
    if texts is None:  # an example that was given no answer gave nothing away
        values = {name: np.where(first == NOTHING, 0.0, value) for name, value in values.items()}
    # A score counts as the same when it rounds to the same whole number, the scale's own steps.
    mine, theirs = np.rint(truth.private.labels[owner]), np.rint(truth.labels[np.maximum(first, 0)])
    values["label"] = ((first != NOTHING) & (mine == theirs)).astype(np.float64)
    return values


def _recall(answers: Ints, private: Ints, corpus: Ints | None, key: Key) -> Values:
    """Share of the different private texts in each mix that are among its first k answers.

    With `corpus`, texts that the attacker could not name do not count; a mix without any other is NaN.
    """
    k = key.members.shape[1]
    mixed = np.where(key.members < 0, NOTHING, private[np.maximum(key.members, 0)])
    hits, total = np.zeros(len(mixed)), np.zeros(len(mixed))
    for j in range(k):
        slot = mixed[:, j]
        counts = (slot != NOTHING) & ~(mixed[:, :j] == slot[:, None]).any(axis=1)
        if corpus is not None:
            counts &= np.isin(slot, corpus)
        total += counts
        hits += counts & (answers[:, :k] == slot[:, None]).any(axis=1)
    share: Values = np.divide(hits, total, out=np.full(len(mixed), np.nan), where=total > 0)
    return share


def _inside(first: Ints, private: Ints, key: Key) -> npt.NDArray[np.bool_]:
    """Whether each item's first answer is one of the private texts that it mixes."""
    inside: npt.NDArray[np.bool_] = ((private[key.members] == first[:, None]) & (key.members >= 0)).any(axis=1)
    return inside


def _recovered(first: Ints, private: Ints, key: Key) -> Values:
    """1 for each example that most of the items naming it first do contain."""
    right = _inside(first, private, key)
    size = int(max(private.max(), first.max())) + 1
    valid = first != NOTHING
    named = np.bincount(first[valid], minlength=size)
    correct = np.bincount(first[valid & right], minlength=size)
    return (2 * correct[private] > named[private]).astype(np.float64)


def _interval(values: Values, example: Ints, rng: np.random.Generator) -> dict[str, float]:
    value, low, high = mean_interval(values, example, rng)
    return {"value": value, "low": low, "high": high}


def _add_random(
    metrics: dict[str, dict[str, float]],
    truth: Truth,
    similarity: Similarity,
    owner: Ints,
    rng: np.random.Generator,
) -> None:
    """The mean and 95 % range that an attacker reaches who names corpus sentences at random."""
    n, rows = len(owner), len(truth.corpus.texts)
    queries = owner if n <= SAMPLE else rng.choice(owner, SAMPLE, replace=False)
    pool = np.arange(rows) if rows <= SAMPLE else rng.choice(rows, SAMPLE, replace=False)
    tables = similarity.table([truth.private.texts[i] for i in queries], [truth.corpus.texts[i] for i in pool])
    same = np.rint(truth.private.labels[queries])[:, None] == np.rint(truth.labels[pool])[None, :]
    for name, table in {**tables, "label": same.astype(np.float64)}.items():
        # Queries are given, answers random: the mean over n of them varies with the spread inside each row.
        mean, spread = float(table.mean()), 1.96 * float(np.sqrt(table.var(axis=1).mean() / n))
        metrics[name] |= {"random": mean, "random_low": mean - spread, "random_high": mean + spread}
    private, corpus = truth.text_numbers()
    k = truth.key.members.shape[1]
    hits: dict[str, list[float]] = {"identity": [], "hit": [], "recall": [], "success": []}
    for _ in range(GUESSERS):
        answers = corpus[rng.integers(0, rows, (n, k))]
        hits["identity"].append(float((answers[:, 0] == private[owner]).mean()))
        hits["hit"].append(float(_inside(answers[:, 0], private, truth.key).mean()))
        recall = _recall(answers, private, corpus, truth.key)
        hits["recall"].append(float(recall[~np.isnan(recall)].mean()) if not np.isnan(recall).all() else 0.0)
        hits["success"].append(float(_recovered(answers[:, 0], private, truth.key).mean()))
    for name, values in hits.items():
        if values:
            low, high = np.quantile(values, [0.025, 0.975])
            metrics[name] |= {
                "random": float(np.mean(values)),
                "random_low": float(low),
                "random_high": float(high),
            }


def _auc(right: npt.NDArray[np.bool_], confidence: Any) -> float | None:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(right, confidence)) if right.any() and not right.all() else None


def _item_table(truth: Truth, owner: Ints, answer: list[str], values: dict[str, Values]) -> dict[str, Any]:
    return {
        "example": [truth.private.texts[i] for i in owner],
        "example_label": truth.private.labels[owner],
        "answer": answer,
        **values,
    }


def _ordered(metrics: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    order = ("identity", *NAMES[:2], "label", NAMES[2], "hit", "recall", "success", "cosine", "error")
    return {name: metrics[name] for name in order if name in metrics}
