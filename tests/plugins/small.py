"""Data of a few sentences or pictures, a defense that fails as it is told to, and attacks that differ in what they see.

Nothing here takes weights, files or time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import DataError, Examples, Guess, Key, Protocol, Release, UsageError, attack, dataset, defense

ERRORS = {"usage": UsageError, "data": DataError, "runtime": RuntimeError, "os": OSError}


@dataclass(frozen=True)
class Sentences:
    """Numbered sentences, of two classes in turn."""

    size: int = 30
    dev: int = 10
    copies: int = 0
    """of the first sentence, at the end of train"""
    shared: int = 0
    """dev sentences that are in train, too"""
    word: str = "word"
    dev_classes: str = "no yes"

    def load(self, split):
        names = [f"{self.word} {i}" for i in range(self.size)]
        if split == "public":
            names = [f"public {i}" for i in range(5)]
        if split == "dev":
            names = names[: self.shared] + [f"dev {i}" for i in range(self.dev - self.shared)]
        if split == "train":
            names += names[:1] * self.copies
        classes = self.dev_classes.split() if split == "dev" else ("no", "yes")
        return Examples(names, np.arange(len(names)) % 2, classes)


@dataset("small", public="small-lender")
@dataclass(frozen=True)
class Small(Sentences):
    """Sentences that name another data set as their public corpus."""


@dataset("small-lender", public="small-lender")
@dataclass(frozen=True)
class Lender(Sentences):
    """Sentences that are their own public corpus."""

    word: str = "lent"


@dataset("small-alone")
@dataclass(frozen=True)
class Alone(Sentences):
    """Sentences without a public corpus."""


@dataset("small-pictures", on=("images",))
@dataclass(frozen=True)
class Pictures:
    """Grey squares."""

    def load(self, split):
        return Examples([f"picture {i}" for i in range(6)], np.arange(6) % 2, ("no", "yes"), np.zeros((6, 1, 8, 8)))


@defense("small-plain")
@dataclass(frozen=True)
class Plain:
    """The vectors in the order of the examples, or a failure."""

    noise: float = 0.0
    """is not added, only asked for"""
    fails: str = ""
    """usage, data, runtime, os; or a release that is short, nan"""

    def release(self, vectors, labels, public, rng, epochs=1):
        if self.fails in ERRORS:
            raise ERRORS[self.fails]("the defense broke")
        members = np.tile(np.arange(len(vectors)), epochs)[:, None]
        key = Key(members[:, 0], members, np.ones(members.shape, dtype=np.float32))
        encodings = vectors[members[:, 0]] + 0
        if self.fails == "nan":
            encodings[0, 0] = np.nan
        return Release(encodings[self.fails == "short" :], labels[members[:, 0]]), key


@defense("small-lends")
@dataclass(frozen=True)
class Lends(Plain):
    """One that is told which public corpus to mix in."""

    public: str = "auto"


@attack("small-names", sees={"encodings", "corpus"}, protocol=Protocol(examples=8, coverage=0.5))
@dataclass(frozen=True)
class Names:
    """The first sentences."""

    top: int = 1

    def run(self, view, rng):
        return Guess(ranking=np.zeros((len(view.encodings), self.top), dtype=np.int64))


@attack("small-reads", sees={"encodings", "public"}, protocol=Protocol(examples=8))
@dataclass(frozen=True)
class Reads(Names):
    """One that wants a public corpus."""


@attack("small-asks", sees={"encodings", "corpus", "oracle"}, protocol=Protocol(examples=8))
@dataclass(frozen=True)
class Asks(Names):
    """One that has an oracle."""


@attack("small-looks", sees={"encodings", "corpus"}, protocol=Protocol(examples=4), on=("text", "images"))
@dataclass(frozen=True)
class Looks(Names):
    """One that works on pictures, too."""
