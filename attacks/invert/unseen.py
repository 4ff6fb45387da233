"""Words that public text lacks or hardly has, out of the vocabulary that the encoder's own tokenizer brings along.

Who may call an encoder has its tokenizer. What such a word does to a vector is learnt by writing it into public
sentences: the vector with it less the vector without it. That is stored, as a trained decoder is, and reused by all
cells with the same encoder and public corpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import BenchError, Floats, Ints
from bench.attacks.invert.store import STORE, digest
from bench.attacks.invert.words import SPECIAL, Vocabulary, spelled, words_of
from bench.encoders import packed
from bench.system.files import atomic_write
from bench.system.paths import cache_dir
from bench.training.checkpoints import locked

FRAMES = 2
"""public sentences that a rare word is written into"""
OF_FRAMES = 64
"""public sentences that serve for all rare words"""
SIZE = (4, 9)
"""words of these sentences"""
CHUNK = 4096
_LETTERS = re.compile(r"\w\w+")
_STARTS = ("Ġ", "▁")
"""what some tokenizers mark the beginning of a word with; others mark what goes on with ##"""

Encode = Callable[[Sequence[str]], Floats]


def own_words(encoder: Any, fold: bool) -> list[str]:
    """Whole words of the encoder's tokenizer, in the tokenizer's order; none where it cannot be read."""
    folder = getattr(encoder, "folder", None)
    if not isinstance(folder, Path):
        return []
    try:
        numbers = packed.tokenizer_of(folder).get_vocab()
    except BenchError:
        return []
    entries = sorted(numbers, key=numbers.get)
    marked = any(entry.startswith(_STARTS) for entry in entries)
    words = [entry[1:] for entry in entries if entry.startswith(_STARTS)] if marked else entries
    words = [word.lower() if fold else word for word in words]
    return [word for word in dict.fromkeys(words) if _LETTERS.fullmatch(word) and word.isascii()]


def effects(
    encode: Encode,
    how: str,
    vocabulary: Vocabulary,
    rare: Ints,
    texts: Sequence[str],
    vectors: Floats,
    progress: Callable[[str], None],
) -> Floats:
    """What each of the rare words (by number) does to a vector on average: rare × d. `how` names the way to encode,
    which is part of what is stored."""
    frames = _frames(texts, vocabulary.fold)
    if not len(rare) or not frames:
        return np.zeros((len(rare), vectors.shape[1]), dtype=np.float32)
    key = digest(vectors, [how, *frames[0], len(texts), len(rare), FRAMES, OF_FRAMES, SIZE, list(vocabulary.words)])
    path = cache_dir() / STORE / f"{key}-effects" / "effects.npy"
    with locked(path.parent, progress):
        if path.exists():
            found: Floats = np.load(path)
            if found.shape == (len(rare), vectors.shape[1]):
                return found
        plain = np.asarray(encode([spelled([*left, *right]) for left, right in frames]), dtype=np.float32)
        at = (np.arange(len(rare))[:, None] * FRAMES + np.arange(FRAMES)) % len(frames)
        found = np.empty((len(rare), vectors.shape[1]), dtype=np.float32)
        for start in range(0, len(rare), CHUNK):
            progress(f"learning words that public text lacks, {start} of {len(rare)}")
            some, rows = rare[start : start + CHUNK], at[start : start + CHUNK]
            written = [
                spelled([*frames[i][0], vocabulary.words[number - SPECIAL], *frames[i][1]])
                for number, row in zip(some, rows, strict=True)
                for i in row
            ]
            seen = np.asarray(encode(written), dtype=np.float32).reshape(len(some), FRAMES, -1)
            found[start : start + CHUNK] = (seen - plain[rows]).mean(axis=1)
        with atomic_write(path) as name, name.open("wb") as file:
            np.save(file, found)
    return found


def _frames(texts: Sequence[str], fold: bool) -> list[tuple[list[str], list[str]]]:
    """Public sentences less a word: what stands before it, and what stands after it."""
    rng = np.random.default_rng(0)
    found = []
    for row in rng.permutation(len(texts)):
        words = words_of(texts[row], fold)
        places = [at for at, word in enumerate(words) if _LETTERS.fullmatch(word)]
        if SIZE[0] <= len(words) <= SIZE[1] and places:
            at = int(rng.choice(places))
            found.append((words[:at], words[at + 1 :]))
        if len(found) == OF_FRAMES:
            break
    return found
