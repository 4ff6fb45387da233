"""Attacks that InstaHide's authors tried on it, on pictures: averages of similar encodings, and squares by squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Floats, Guess, Ints, Protocol, View, attack
from bench.attacks.braverman import rank
from bench.attacks.common.scheme import learn
from bench.scoring.kinds.picture_similarity import ssim
from bench.toolkit.pictures import shape_of

# The values of normalised pixels span about this much; SSIM's constants are for a span of 1.
SPAN = 5.0
# Encodings, nearest by correlation, among which SSIM looks for the most similar.
SHORTLIST = 40
# Rows of the table of correlations held at a time.
BLOCK = 512
# Vectors of one's own that the scheme is run on, to see whether it masks, and how many it mixes.
TRIED = 64


@attack(
    "average",
    sees={"encodings", "defense", "encoder"},
    paper="Huang et al. 2020 (InstaHide), section 5.3, weaker attack",
    protocol=Protocol(examples=50, epochs=50),
    on=("images",),
)
@dataclass(frozen=True)
class Average:
    """The mean of each encoding and those most similar to it by SSIM; of magnitudes, where there is a mask."""

    top: int = 5
    """similar encodings that are averaged with each, as the authors tuned it"""

    def __post_init__(self) -> None:
        if self.top < 1:
            raise ValueError("top must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        encodings = np.asarray(view.encodings)
        shape = shape_of(encodings.shape[1])
        noise = rng.standard_normal((TRIED, encodings.shape[1])).astype(np.float32)
        if learn(view, noise, np.zeros((TRIED, 1), np.float32), rng).masked:
            encodings = np.abs(encodings)
        view.stage("looking for similar encodings")
        near = _similar(encodings, shape, min(self.top, len(encodings) - 1))
        means = (encodings + encodings[near].sum(axis=1)) / (1 + near.shape[1])
        return Guess(images=np.clip(view.encoder.decode(means), 0, 1)[:, None])


@attack(
    "braverman-pictures",
    sees={"encodings", "corpus", "defense", "encoder"},
    paper="Huang et al. 2020 (InstaHide), section 9, after Braverman",
    protocol=Protocol(examples=1000, epochs=1),
    on=("images",),
)
@dataclass(frozen=True)
class BravermanPictures:
    """Braverman's attack on pictures: as many candidates s as are mixed, by falling ⟨x̃², s²⟩ − ‖x̃‖²‖s‖²/d."""

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        encodings, corpus = np.asarray(view.encodings), np.asarray(view.corpus.vectors)
        noise = rng.standard_normal((TRIED, encodings.shape[1])).astype(np.float32)
        private = learn(view, noise, np.zeros((TRIED, 1), np.float32), rng).private
        view.stage("correlating squares")
        named = rank(encodings, corpus, private)
        images = np.clip(view.encoder.decode(corpus[named.ravel()]), 0, 1)
        return Guess(images=images.reshape(*named.shape, *images.shape[1:]))


def _similar(values: Floats, shape: tuple[int, int, int], top: int) -> Ints:
    """Rows of the `top` most similar others by SSIM, among those of largest correlation."""
    unit = values - values.mean(axis=1, keepdims=True)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True) + 1e-12
    pictures = values.reshape(-1, *shape) / np.float32(SPAN)
    short = min(max(SHORTLIST, top), len(values) - 1)
    found = np.empty((len(values), top), dtype=np.int64)
    for at in range(0, len(values), BLOCK):
        rows = np.arange(at, min(at + BLOCK, len(values)))
        cosine = unit[rows] @ unit.T
        cosine[np.arange(len(rows)), rows] = -np.inf
        near = np.argpartition(-cosine, short - 1, axis=1)[:, :short]
        alike = ssim(pictures[np.repeat(rows, short)], pictures[near.ravel()]).reshape(len(rows), short)
        found[rows] = np.take_along_axis(near, np.argsort(-alike, axis=1, kind="stable")[:, :top], axis=1)
    return found
