"""Undo the sign mask with a network, as InstaHide's authors tried with a GAN (figure 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Guess, Protocol, View, attack
from bench.attacks.common.pixels import decoded, scheme_of_pixels
from bench.toolkit.pictures import shape_of


@attack(
    "demask",
    sees={"encodings", "public", "defense", "encoder"},
    paper="Huang et al. 2020 (InstaHide), section 5.3, figure 6",
    protocol=Protocol(examples=1000, epochs=1),
    on=("images",),
)
@dataclass(frozen=True)
class Demask:
    """Signs by a small U-Net that is trained on encodings of public pictures; each demasked mix is an answer."""

    steps: int = 300
    """training steps, each on 64 encodings"""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError("steps must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.common import unet

        encodings = np.asarray(view.encodings)
        shape = shape_of(encodings.shape[1])
        scheme_of_pixels(view, encodings.shape[1], rng)
        public = np.asarray(view.public.vectors)
        signs = unet.train(
            lambda vectors: unet.shadow(view, vectors, rng), public, shape, rng, steps=self.steps, stage=view.stage
        )
        view.stage("signs of the encodings")
        images = decoded(view, signs(np.abs(encodings)))
        return Guess(images=images[:, None], details={"signs_right": signs.right, "negatives_found": signs.undone})
