"""The attack of 2020 on InstaHide (Carlini et al.), in its stages, small enough for two cores.

Pairs (does a network think that two encodings share a picture?), groups (cliques of encodings that recur), assignment
(which groups each encoding belongs to, by its label), descent (pictures that explain the magnitudes), colour (the signs
that magnitudes leave open). docs/attacks/instahide.md says what was reduced, and what it cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench import Guess, Protocol, View, attack
from bench.attacks.common.pixels import decoded, scheme_of_pixels
from bench.toolkit.pictures import shape_of


@attack(
    "carlini",
    sees={"encodings", "labels", "public", "defense", "encoder"},
    paper="Carlini et al. 2020 (Is Private Learning Possible with Instance Encoding?)",
    protocol=Protocol(examples=100, epochs=50),
    on=("images",),
)
@dataclass(frozen=True)
class Carlini:
    """A network for pairs, cliques, assignment by labels, and descent on magnitudes, in place of two of WRN-28-6."""

    pair_steps: int = 400
    """training steps of the network for pairs, each on 256 encodings of public pictures"""
    cliques: int = 1000
    """grown greedily, each from an encoding at random; those that recur are pictures"""
    size: int = 20
    """encodings in a clique"""
    steps: int = 200
    """of descent on the magnitudes"""
    answer: Literal["pool", "items"] = "pool"
    """all pictures found, or for each encoding the one that weighs most in it, as the InstaHide challenge asks"""

    def __post_init__(self) -> None:
        if min(self.pair_steps, self.cliques, self.steps) < 1 or self.size < 2:
            raise ValueError("pair_steps, cliques and steps must be at least 1, and size at least 2")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        # Imported here: whoever checks this attack's options need not wait for its libraries.
        from bench.attacks.carlini import descent, groups, pairs

        encodings, labels = np.asarray(view.encodings), np.asarray(view.labels)
        public = np.asarray(view.public.vectors)
        shape = shape_of(encodings.shape[1])
        scheme = scheme_of_pixels(view, encodings.shape[1], rng)
        magnitudes = np.abs(encodings)
        network = pairs.train(
            lambda vectors, epochs: pairs.shadow(view, vectors, epochs, rng),
            public,
            shape,
            rng,
            steps=self.pair_steps,
            stage=view.stage,
        )
        view.stage("growing cliques of encodings")
        features = network.embed(magnitudes)
        found = groups.recurring(features, self.cliques, self.size, rng)
        view.stage(f"assigning encodings to {len(found)} pictures")
        classes = groups.classes_of(found, labels)
        scores = groups.scores(features, found)
        member = groups.assign(scores, groups.allowed(labels, classes), scheme.private)
        weights = groups.weights_of(member, labels, classes)
        pictures = descent.fit(magnitudes, weights, shape, steps=self.steps, stage=view.stage)
        view.stage("signs of pixels")
        pictures = descent.coloured(pictures, public, shape)
        images = decoded(view, pictures)
        details = {"pictures": len(images), "assigned": float(member.sum(axis=1).mean())}
        if self.answer == "pool":
            return Guess(images=images, details=details)
        return Guess(images=images[weights.argmax(axis=1)][:, None], details=details)
