"""A plugin of each kind that is wrong in one way, chosen by its option, so that the conformance suite can be seen to
notice. With the flaw `none`, each is as it should be."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np

from bench import DataError, Examples, Guess, Key, Release, UsageError, attack, dataset, defense, encoder
from bench.toolkit.mixing import apply, draw_members, mix


@attack("flawed-attack", sees={"encodings", "corpus"}, paper="these tests")
@dataclass(frozen=True)
class FlawedAttack:
    """Similarity search."""

    flaw: str = "none"
    """what is wrong with it"""

    def run(self, view, rng):
        n, rows = len(view.encodings), len(view.corpus.texts)
        ranking = view.corpus.search(view.encodings, 8)
        if self.flaw == "unseeded":
            ranking = np.random.default_rng().integers(0, rows, (n, 8))
        elif self.flaw == "samples":  # not a flaw: its answers are random, and rng decides them
            ranking = rng.integers(0, rows, (n, 8))
        elif self.flaw == "order":
            ranking = (np.arange(n)[:, None] + np.arange(8)) % rows
        elif self.flaw == "peeks":
            return Guess(ranking=ranking, confidence=view.labels[:, 0])
        elif self.flaw == "slow":
            time.sleep(60)
        elif self.flaw == "refuses" or (self.flaw == "picky" and np.abs(view.encodings).max() > 9):
            raise UsageError("is not made for this")
        elif self.flaw == "floats":
            ranking = ranking.astype(np.float32)
        elif self.flaw == "integer vectors":
            return Guess(vectors=np.ones(view.encodings.shape, dtype=np.int64))
        return Guess(ranking=ranking)


@attack("flawed-asks-much", sees={"encodings", "corpus", "labels", "encoder"}, paper="these tests")
@dataclass(frozen=True)
class AsksMuch:
    """Has an encoder and labels, and uses one of them."""

    def run(self, view, rng):
        assert view.encoder.encode(view.corpus.texts[:2]).shape == (2, view.encodings.shape[1])
        return Guess(texts=[view.corpus.texts[i] for i in view.corpus.search(view.encodings)[:, 0]])


@attack("flawed-eye", sees={"gradients", "labels"}, paper="these tests", on=("images",))
@dataclass(frozen=True)
class FlawedEye:
    """Pictures that the gradients alone decide, if not well."""

    flaw: str = "none"
    """what is wrong with it"""

    def run(self, view, rng):
        n, picture = len(view.labels), view.model.picture
        light = np.abs(view.gradients["head1.bias"]).sum(axis=1) / 2
        images = np.broadcast_to(light[:, None, None, None, None], (n, 1, *picture)).astype(np.float32)
        if self.flaw == "unseeded":
            images = np.random.default_rng().random((n, 1, *picture), dtype=np.float32)
        elif self.flaw == "order":
            images = np.broadcast_to(np.linspace(0, 1, n)[:, None, None, None, None], images.shape).astype(np.float32)
        elif self.flaw == "shape":
            images = images[:, :, :, 1:]
        return Guess(images=images)


@attack("flawed-silent", sees={"encodings", "corpus"})
@dataclass(frozen=True)
class Silent:
    top: int = 1

    def run(self, view, rng):
        return Guess(ranking=view.corpus.search(view.encodings, self.top))


@defense("flawed-defense", paper="these tests")
@dataclass(frozen=True)
class FlawedDefense:
    """Noise on every vector."""

    flaw: str = "none"
    """what is wrong with it"""

    def release(self, vectors, labels, public, rng, epochs=1):
        n = len(vectors)
        if self.flaw == "rng":
            rng = np.random.default_rng()
        members = draw_members(n, 1, epochs, rng, batch="all", distinct=False)
        if self.flaw == "order":
            members = np.tile(np.arange(n), epochs)[:, None]
        elif self.flaw == "epochs in order":
            members = np.concatenate([rng.permutation(n) for _ in range(epochs)])[:, None]
        noise = rng.standard_normal((len(members), vectors.shape[1])).astype(np.float32)
        if self.flaw == "stale":
            noise = noise[members[:, 0]]
        ones = np.ones(members.shape, dtype=np.float32)
        key = Key(members[:, 0], members, ones, noise=noise)
        if self.flaw == "gradients" and hasattr(vectors, "detach"):
            vectors = vectors.detach()
        encodings, mixed = apply(vectors, key), mix(labels, members, ones)
        if self.flaw == "key":
            key = Key(members[:, 0], members, ones)
        elif self.flaw == "labels":
            mixed = mixed * 2
        elif self.flaw == "inputs":
            vectors[0] = 0
        elif self.flaw == "shape":
            encodings = encodings[:, 1:]
        elif self.flaw == "owner":
            key = Key((members[:, 0] + 1) % n, members, ones, noise=noise)
        elif self.flaw == "double":
            encodings = encodings.astype(np.float64) if hasattr(encodings, "astype") else encodings
        elif self.flaw == "raises":
            raise RuntimeError("the dog ate it")
        return Release(encodings, mixed, {"odd": {1}} if self.flaw == "notes" else {}), key


@defense("flawed-epsilon", paper="these tests")
@dataclass(frozen=True)
class Epsilon(FlawedDefense):
    """Claims an ε and accounts for none."""

    epsilon: float = 1.0
    """the budget"""


@dataset("flawed-dataset", public="nowhere", metrics=("luck",))
@dataclass(frozen=True)
class FlawedDataset:
    """Numbered sentences."""

    flaw: str = "none"
    """what is wrong with it"""

    def load(self, split):
        if split != "train":
            raise DataError("has a train split only")
        texts = [f"sentence number {i}" for i in range(20)]
        if self.flaw == "empty":
            texts[3] = " "
        elif self.flaw == "same":
            texts = ["again"] * 20
        elif self.flaw == "list":
            return texts
        elif self.flaw == "raises":
            raise KeyError(split)
        elif self.flaw == "process":
            texts[0] += str(os.getpid())
        elif self.flaw == "set":
            texts = list(set(texts))
        elif self.flaw == "labels":
            return Examples(texts, [7] * 20, ("no", "yes"))
        return Examples(texts, [0, 1] * 10, ("no", "yes"))


@encoder("flawed-encoder")
@dataclass(frozen=True)
class FlawedEncoder:
    """Lengths of texts, and of those beside them."""

    flaw: str = "none"
    """what is wrong with it"""

    def encode(self, texts, device="cpu"):
        own = np.array([[len(text), text.count(" ")] for text in texts], dtype=np.float32)
        return own - own.mean(axis=0) if self.flaw == "neighbours" else own
