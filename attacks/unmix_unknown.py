"""Cross-dataset InstaHide whose public pictures are unknown: unmix-blind, and the mean of other public pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Guess, View, attack
from bench.attacks.common.pixels import TRIED, decoded, last_sign, scheme_of_pixels
from bench.attacks.unmix_pictures import UnmixBlind
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

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.unmix_pictures.blind import recover

        encodings, public = np.asarray(view.encodings), np.asarray(view.public.vectors)
        width = encodings.shape[1]
        shape = shape_of(width)
        scheme = scheme_of_pixels(view, width, rng)
        black, white = (view.encoder.encode(np.full((1, *shape), level, np.float32))[0] for level in (0, 1))
        found = recover(
            encodings,
            shape,
            scheme.private,
            (black, white),
            rng,
            rounds=self.rounds,
            clusters=self.clusters,
            stage=view.stage,
        )
        share = private_share(view, width, rng)
        pictures = found.pictures * last_sign(found.pictures, public) / share
        images = decoded(view, pictures)
        details = {"pictures": len(images), "median_residual": float(np.median(found.mixes.residual))}
        if self.answer == "pool":
            return Guess(images=images, details=details)
        heaviest = np.take_along_axis(found.mixes.support, found.mixes.weights.argmax(axis=1)[:, None], axis=1)
        return Guess(images=images[heaviest], details=details)


def private_share(view: View, width: int, rng: np.random.Generator) -> np.float32:
    """What private pictures weigh in a mix, on average: recovery takes it for 1, and makes them fainter by it."""
    noise = rng.standard_normal((TRIED, width)).astype(np.float32)
    _, key = view.defense.release(noise, np.zeros((TRIED, 1), np.float32), rng, epochs=4)
    return np.float32(np.where(np.asarray(key.members) >= 0, key.weights, 0).sum(axis=1).mean())
