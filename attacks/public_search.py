"""Which public pictures were mixed in? By similarity, as InstaHide's authors tried it (figure 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench import Floats, Guess, Ints, Protocol, UsageError, View, attack
from bench.attacks.common.pixels import decoded, scheme_of_pixels
from bench.scoring.kinds.picture_similarity import ssim
from bench.toolkit.pictures import shape_of

# From magnitudes to a demasked mix.
Bare = Callable[[Floats], Floats]
# The values of normalised pixels span about this much; SSIM's constants are for a span of 1.
SPAN = 5.0
# Encodings compared with public pictures at a time: 64 × 100 pairs of 3,072 floats are 150 MiB.
BLOCK = 64
# Public pictures that the attacker hides by himself, to count how often a member is among the first answers.
OWN = 200
RIDGE = 1e-3
# The least share of a mix that is taken to be private.
LEAST = 0.2


@attack(
    "public-search",
    sees={"encodings", "public", "defense", "encoder"},
    paper="Huang et al. 2020 (InstaHide), section 5.3, figure 8",
    protocol=Protocol(examples=1000, epochs=1),
    on=("images",),
)
@dataclass(frozen=True)
class PublicSearch:
    """The public pictures most similar to each demasked encoding, taken off it; what is left is the answer."""

    top: int = 10
    """public pictures that are named for each encoding"""
    short: int = 100
    """of largest correlation, among which SSIM chooses"""
    steps: int = 300
    """training steps of the U-Net that demasks; 0: plain magnitudes"""

    def __post_init__(self) -> None:
        if self.top < 1 or self.steps < 0 or self.short < self.top:
            raise ValueError("top must be at least 1, short no less than top, and steps 0 or more")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.common import unet

        encodings, public = np.asarray(view.encodings), np.asarray(view.public.vectors)
        shape = shape_of(encodings.shape[1])
        if not scheme_of_pixels(view, encodings.shape[1], rng).public:
            raise UsageError("this scheme mixes in no public pictures: there are none to search for")
        bare: Bare = np.abs
        if self.steps:
            bare = unet.train(
                lambda vectors: unet.shadow(view, vectors, rng), public, shape, rng, steps=self.steps, stage=view.stage
            )
        view.stage("searching for what the attacker has hidden himself")
        hits = self._hits(view, public, bare, shape, rng)
        view.stage("searching for public pictures")
        mixes = bare(np.abs(encodings))
        left = without(mixes, public, self._named(mixes, public, shape))
        return Guess(images=decoded(view, left)[:, None], details={"hit_rate": hits, "top": self.top})

    def _named(self, mixes: Floats, public: Floats, shape: tuple[int, int, int]) -> Ints:
        return most_similar(mixes, public, shape, min(self.short, len(public)))[:, : self.top]

    def _hits(
        self, view: View, public: Floats, bare: Bare, shape: tuple[int, int, int], rng: np.random.Generator
    ) -> float:
        """How often a public member is among the answers, where the attacker knows the key: for encodings of his own.
        His private pictures are public ones, which he may name as well; that counts as no hit."""
        rows = rng.choice(len(public), min(OWN, len(public)), replace=False)
        release, key = view.defense.release(public[rows], np.zeros((len(rows), 1), np.float32), rng)
        named = self._named(bare(np.abs(np.asarray(release.encodings))), public, shape)
        return float((named[:, :, None] == key.public[:, None, :]).any(axis=(1, 2)).mean())


def most_similar(mixes: Floats, public: Floats, shape: tuple[int, int, int], short: int) -> Ints:
    """n × short rows of public pictures, by falling SSIM, of those of largest correlation."""
    known = public - public.mean(axis=1, keepdims=True)
    known /= np.linalg.norm(known, axis=1, keepdims=True) + 1e-12
    pictures, asked = (values.reshape(-1, *shape) / np.float32(SPAN) for values in (public, mixes))
    found = np.empty((len(mixes), short), dtype=np.int64)
    for at in range(0, len(mixes), BLOCK):
        rows = np.arange(at, min(at + BLOCK, len(mixes)))
        near = np.argpartition(-(mixes[rows] @ known.T), short - 1, axis=1)[:, :short]
        alike = ssim(asked[np.repeat(rows, short)], pictures[near.ravel()]).reshape(near.shape)
        found[rows] = np.take_along_axis(near, np.argsort(-alike, axis=1, kind="stable"), axis=1)
    return found


def without(mixes: Floats, public: Floats, named: Ints) -> Floats:
    """What mixes have beyond the named public pictures, whose weights are fitted, as a picture of its own."""
    found: Floats = np.empty_like(mixes)
    for at in range(0, len(mixes), BLOCK):
        rows = slice(at, at + BLOCK)
        pictures = public[named[rows]]
        gram = pictures @ pictures.transpose(0, 2, 1)
        gram += RIDGE * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(gram.shape[1], dtype=np.float32)
        weights = np.clip(np.linalg.solve(gram, pictures @ mixes[rows][:, :, None]), 0, 1)
        share = np.maximum(1 - weights.sum(axis=1), LEAST)
        found[rows] = (mixes[rows] - (weights * pictures).sum(axis=1)) / share
    return found
