"""Cross-dataset InstaHide with unknown public pictures: two pictures of each mix are looked for, the rest is noise.

The steps are those of bench.attacks.unmix_pictures.blind. What differs: signs of whole pictures, which a picture that
meets each other one only once or twice leaves in doubt; the last sign and the scale, which public pictures and the
scheme settle; and fewer rounds, since more of them explain noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench import Floats, Guess, View, attack
from bench.attacks.common.pixels import TRIED, decoded, last_sign, scheme_of_pixels
from bench.attacks.unmix_pictures import UnmixBlind, blind
from bench.attacks.unmix_pictures.blind import Found
from bench.attacks.unmix_pictures.clusters import first_guesses
from bench.attacks.unmix_pictures.differences import Shape, difference_magnitudes
from bench.attacks.unmix_pictures.pursuit import Dictionary, decode
from bench.plugins.protocol import Protocol
from bench.toolkit.pictures import shape_of


@attack(
    "unmix-unknown",
    sees={"encodings", "defense", "encoder", "public"},
    paper="this suite: docs/attacks/instahide.md",
    protocol=Protocol(examples=100, epochs=50),
    on=("images",),
)
@dataclass(frozen=True)
class UnmixUnknown(UnmixBlind):
    """As unmix-blind; of the public pictures it uses the mean alone, which tells pictures from negatives."""

    rounds: int = 3
    """how many times all mixes are decoded and all pictures fitted"""

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        encodings = np.asarray(view.encodings)
        shape = shape_of(encodings.shape[1])
        private = scheme_of_pixels(view, encodings.shape[1], rng).private
        clusters = self.clusters or int(np.clip(len(encodings) // blind.PER_CLUSTER, 2, blind.MOST_CLUSTERS))
        found = recover(encodings, shape, private, clusters, rng, rounds=self.rounds, stage=view.stage)
        share = private_share(view, encodings.shape[1], rng)
        images = decoded(view, found.pictures * last_sign(found.pictures, np.asarray(view.public.vectors)) / share)
        details = {"pictures": len(images), "median_residual": float(np.median(found.mixes.residual))}
        if self.answer == "pool":
            return Guess(images=images, details=details)
        heaviest = np.take_along_axis(found.mixes.support, found.mixes.weights.argmax(axis=1)[:, None], axis=1)
        return Guess(images=images[heaviest], details=details)


def recover(
    encodings: Floats,
    shape: Shape,
    private: int,
    clusters: int,
    rng: np.random.Generator,
    *,
    rounds: int,
    stage: Callable[[str], None] = lambda text: None,
) -> Found:
    """The `private` pictures of each mix, up to one sign, as if nothing else were mixed in."""
    magnitudes = np.abs(encodings)
    centre = difference_magnitudes(magnitudes, shape).mean(axis=0)
    stage("clustering differences of neighbouring pixels")
    pictures, rank = first_guesses(magnitudes, shape, clusters, rng)
    if not len(pictures):  # too few encodings to tell anything from
        pictures, rank = magnitudes[:1].copy(), np.zeros(1)
    pictures = blind.without_twins(pictures, rank, shape)
    for at in range(rounds):
        stage(f"round {at + 1} of {rounds}: mixes of {len(pictures)} pictures")
        dictionary = Dictionary.of(pictures, shape)
        mixes = decode(magnitudes, dictionary, private, centre, starts=1, cycles=0, signed=at == 0)
        weights = mixes.dense(len(pictures))
        if at == 0:
            flip = common_signs(weights)
            pictures, weights = pictures * flip[:, None], weights * flip
        pictures = blind.refitted(magnitudes, pictures, weights, mixes.residual)
        uses = blind.uses_of(pictures, weights)
        if at:
            uses = np.where(uses < blind.RARE * np.median(uses), 0, uses)
        pictures = blind.without_twins(pictures, uses, shape)
    mixes = decode(magnitudes, Dictionary.of(pictures, shape), private, centre, starts=1, cycles=0)
    return Found(*blind.scaled(pictures, mixes))


def common_signs(weights: Floats) -> Floats:
    """Flips after which weights that meet in one encoding have the same sign, as far as can be.

    A leading eigenvector of who meets whom, each pair divided by how much both meet others: without that, two heavy
    pictures that meet often own the eigenvector, and all others get signs at random.
    """
    together = weights.T @ weights
    np.fill_diagonal(together, 0)
    size = np.sqrt(np.abs(together).sum(axis=1) + 1e-12)
    _, vectors = np.linalg.eigh(together / np.outer(size, size))
    return np.where(vectors[:, -1] < 0, np.float32(-1), np.float32(1))


def private_share(view: View, width: int, rng: np.random.Generator) -> np.float32:
    """What private pictures weigh in a mix, on average: recovery takes it for 1, and makes them fainter by it."""
    noise = rng.standard_normal((TRIED, width)).astype(np.float32)
    _, key = view.defense.release(noise, np.zeros((TRIED, 1), np.float32), rng, epochs=4)
    return np.float32(np.where(np.asarray(key.members) >= 0, key.weights, 0).sum(axis=1).mean())
