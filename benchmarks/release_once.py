"""Chooses release-once's defaults (directions, share of ε for the label, clip bound) on public data alone.

Private data have no part in it: sentences of a public corpus are labelled by the words in them, half of them for each
task with the word and half without, and drawn with replacement until there are as many as a data set has. What is best
on average over the words is the default.

`python benchmarks/release_once.py --sentences 4000` (needs the imdb corpus and the encoder's weights); with `--joint`,
for `labels=joint`, beside labels of their own.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from typing import Any

import numpy as np

from bench import Corpus
from bench.defenses.release_once import ReleaseOnce
from bench.experiment.setup import load
from bench.modalities.text import encode_texts
from bench.plugins.registry import Registry

TASKS = 4
BUDGETS = (2.0, 4.0, 8.0)
DIRECTIONS = (4, 8, 16, 32)
SHARES = (0.25, 0.4)
CLIPS = (0.7, 1.0, 1.4)


def words_of(texts: list[str], least: int) -> list[str]:
    """The words that most sentences have, of those that fewer than a quarter have: neither rare nor everywhere."""
    counts = Counter(word for text in texts for word in set(re.findall(r"[a-z]+", text.lower())))
    known = [word for word, count in counts.most_common() if least < count < len(texts) / 4 and len(word) > 4]
    return known[:TASKS]


def reached(
    defense: ReleaseOnce, vectors: Any, has: Any, taught: Any, public: Corpus, examples: int, rng: Any
) -> float:
    """Balanced accuracy on sentences that were not trained on."""
    sides = [np.flatnonzero(taught & (has == side)) for side in (False, True)]
    rows = np.concatenate([rng.choice(side, examples // 2) for side in sides])
    labels = np.eye(2, dtype=np.float32)[has[rows].astype(int)]
    release, _ = defense.release(vectors[rows], labels, public, rng)
    answer = defense.learn(release.encodings, release.labels, public, release.notes)
    right = answer(vectors[~taught]).argmax(axis=1) == has[~taught]
    return float(np.mean([right[has[~taught] == side].mean() for side in (False, True)]))


def with_words(words: str, epsilon: float, texts: list[str], vectors: Any, examples: int, rng: Any) -> dict[int, float]:
    """What directions of words reach, by r, on other sentences that hold such words."""
    groups = [{*group.split("+")} for group in words.split("/")]
    found = np.array([[bool(group & {*re.findall(r"\w+", text.lower())}) for group in groups] for text in texts])
    told, half = found.sum(axis=1) == 1, rng.random(len(texts)) < 0.6
    public = Corpus([text for text, taught in zip(texts, half, strict=True) if taught], vectors[half])
    task = (vectors[told], found[told, 1], half[told], public, examples, rng)
    some = {r: ReleaseOnce(epsilon=epsilon, r=r, words=words) for r in (1, 4, 16)}
    return {r: round(float(np.mean([reached(defense, *task) for _ in range(2)])), 3) for r, defense in some.items()}


def with_other_words(
    words: str, epsilon: float, texts: list[str], vectors: Any, examples: int, rng: Any
) -> dict[int, float]:
    """What directions of half of the words reach on sentences that hold only the other half: a task is never known by
    the very words that one thinks of."""
    found: dict[int, list[float]] = {r: [] for r in (1, 4, 8, 16, 32)}
    held = [{*re.findall(r"\w+", text.lower())} for text in texts]
    for _ in range(2):
        halves: list[list[list[str]]] = [[], []]
        for group in words.split("/"):
            shuffled = [str(word) for word in rng.permutation(group.split("+"))]
            halves[0].append(shuffled[::2])
            halves[1].append(shuffled[1::2])
        for known, unknown in (halves, halves[::-1]):
            named = np.array([any({*group} & some for group in known) for some in held])
            other = np.array([[bool({*group} & some) for group in unknown] for some in held])
            task = ~named & (other.sum(axis=1) == 1)
            # The corpus holds none of the task's sentences.
            public = Corpus([text for text, asked in zip(texts, task, strict=True) if not asked], vectors[~task])
            taught = rng.random(int(task.sum())) < 0.6
            said = "/".join("+".join(group) for group in known)
            for r, some in found.items():
                defense = ReleaseOnce(epsilon=epsilon, r=r, words=said)
                some.append(reached(defense, vectors[task], other[task, 1], taught, public, examples, rng))
    return {r: round(float(np.mean(some)), 3) for r, some in found.items()}


def public_alone(words: str, texts: list[str], vectors: Any, dev: Any, labels: Any) -> float:
    """What the direction of words reaches on a task of two classes (the second one is named first) without any of its
    examples: the threshold is the middle between public sentences with words of either class."""
    held = [{*re.findall(r"\w+", text.lower())} for text in texts]
    found = np.array([[bool({*group.split("+")} & some) for group in words.split("/")] for some in held])
    alone = found & (found.sum(axis=1, keepdims=True) == 1)
    frame = ReleaseOnce(r=1, words=words).frame(Corpus(texts, vectors))
    first, second = (frame.points(vectors[rows]).mean() for rows in alone.T)
    answers = (frame.points(dev)[:, 0] - (first + second) / 2) * (first - second) > 0
    return float((answers == (labels == 1)).mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=4000)
    parser.add_argument("--examples", type=int, default=30_000)
    parser.add_argument("--encoder", default="minilm:pooling=mean")
    parser.add_argument("--words", default="", help="choose r for these words, as great+good/bad+awful")
    parser.add_argument("--task", default="", help="with --words: what they reach on its dev set without its examples")
    parser.add_argument("--joint", action="store_true", help="choose r for labels=joint")
    parser.add_argument("--crowd", type=int, default=1, help="with --joint: sums of so many")
    args = parser.parse_args()
    registry = Registry()
    texts = load(registry.make("dataset", f"imdb:limit={args.sentences}"), "public")[0].texts
    encoder = registry.make("encoder", args.encoder)
    vectors = encode_texts(encoder, "encoder", texts, "cpu", lambda said: None)
    if args.task:
        task = load(registry.make("dataset", args.task), "dev")[0]
        dev = encode_texts(encoder, "encoder", task.texts, "cpu", lambda said: None)
        print(f"{args.task}: {public_alone(args.words, texts, vectors, dev, np.asarray(task.labels)):.3f}")
        return
    rng = np.random.default_rng(19)
    taught = rng.random(len(texts)) < 0.7
    public = Corpus([], vectors[taught])
    tasks = words_of(texts, len(texts) // 40)
    print("words:", ", ".join(tasks))
    marks = [np.array([bool(re.search(rf"\b{word}\b", text.lower())) for text in texts]) for word in tasks]

    def mean(**options: Any) -> float:
        some = [reached(ReleaseOnce(**options), vectors, has, taught, public, args.examples, rng) for has in marks]
        return float(np.mean(some))

    if args.words:
        for epsilon in BUDGETS:
            print(f"ε = {epsilon:g}:", with_words(args.words, epsilon, texts, vectors, args.examples, rng), flush=True)
            other = with_other_words(args.words, epsilon, texts, vectors, args.examples, rng)
            print(f"ε = {epsilon:g}, other words:", other, flush=True)
        return

    if args.joint:
        kinds: dict[str, dict[str, Any]] = {"joint": {"labels": "joint", "crowd": args.crowd}}
        if args.crowd == 1:
            kinds["private"] = {}
        for epsilon in (1.0, *BUDGETS):
            for r in (*DIRECTIONS, 64, 128):
                found = {name: round(mean(epsilon=epsilon, r=r, **some), 3) for name, some in kinds.items()}
                print(f"ε = {epsilon:g}, r = {r}: {found}", flush=True)
        return

    for epsilon in BUDGETS:
        rows = {(r, share): mean(epsilon=epsilon, r=r, label=share * epsilon) for r in DIRECTIONS for share in SHARES}
        for r in DIRECTIONS:
            line = "  ".join(f"{share:g}: {rows[r, share]:.3f}" for share in SHARES)
            print(f"ε = {epsilon:g}, r = {r}: {line}", flush=True)
        r, share = max(rows, key=lambda key: rows[key])
        clips = {clip: mean(epsilon=epsilon, r=r, label=share * epsilon, clip=clip) for clip in CLIPS}
        said = ", ".join(f"clip {clip:g}: {value:.3f}" for clip, value in clips.items())
        print(f"ε = {epsilon:g}: r = {r}, share {share:g} ({said})", flush=True)


if __name__ == "__main__":
    main()
