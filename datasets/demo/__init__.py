"""The `demo` dataset: sentences that the project writes itself, so that the first command works offline.

A seeded grammar writes each sentence for a wanted sentiment, and breaks some of them in one place. Both
labels follow from how a sentence was built; nobody and no model was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Literal

from bench import Examples, dataset
from bench.datasets.demo.faults import corrupt, spell
from bench.datasets.demo.grammar import Grammar

__all__ = ["SIZES", "Demo", "Sentence", "fingerprint", "sentences"]

Sentence = tuple[str, int, int]  # text, acceptability, sentiment

SEED = 20240
SIZES = {"train": 4800, "dev": 900, "public": 1300}
ACCEPTABLE = 0.68  # about the share in CoLA
CLASSES = {"acceptability": ("unacceptable", "acceptable"), "sentiment": ("negative", "positive")}


@lru_cache(maxsize=2)
def _written(seed: int = SEED) -> tuple[Sentence, ...]:
    grammar = Grammar(seed)
    found: dict[str, Sentence] = {}
    while len(found) < sum(SIZES.values()):
        sentiment, acceptable = int(grammar.chance(0.5)), int(grammar.chance(ACCEPTABLE))
        phrase = grammar.sentence(sentiment)
        sound = spell(phrase)
        text = sound if acceptable else corrupt(phrase, grammar.pick)[0]
        if 4 <= len(text.split()) <= 30 and (acceptable or text != sound):
            found.setdefault(text, (text, acceptable, sentiment))
    return tuple(found.values())


def sentences(split: str, seed: int = SEED) -> list[Sentence]:
    """The sentences of one split. No text occurs twice, in one split or in two."""
    if split not in SIZES:
        raise ValueError(f"demo has no split {split!r}; it has {', '.join(SIZES)}")
    start = 0
    for name, size in SIZES.items():
        if name == split:
            break
        start += size
    return list(_written(seed)[start : start + SIZES[split]])


def fingerprint() -> str:
    """A hash of everything the grammar writes, in order."""
    lines = [f"{text}\t{acceptable}\t{sentiment}" for text, acceptable, sentiment in _written()]
    return sha256("\n".join(lines).encode()).hexdigest()


@dataset("demo", public="demo")
@dataclass(frozen=True)
class Demo:
    """Sentences written by a seeded grammar, so that the first command works offline."""

    label: Literal["acceptability", "sentiment"] = "acceptability"
    """which of a sentence's two labels is used"""

    def load(self, split: str) -> Examples:
        return self._examples(split, SEED)

    def redrawn(self, salt: str) -> Demo:
        """Other sentences of the same grammar, for sealed runs: an attack could bring these along."""
        return _Redrawn(self.label, salt)

    def _examples(self, split: str, seed: int) -> Examples:
        texts, acceptability, sentiment = zip(*sentences(split, seed), strict=True)
        labels = acceptability if self.label == "acceptability" else sentiment
        return Examples(texts=texts, labels=labels, classes=CLASSES[self.label])


@dataclass(frozen=True)
class _Redrawn(Demo):
    """The demo of one sealed run. It has no decorator: it is the same data set to everybody else."""

    salt: str = ""

    def load(self, split: str) -> Examples:
        return self._examples(split, int.from_bytes(sha256(self.salt.encode()).digest(), "little"))
