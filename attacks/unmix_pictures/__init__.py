"""Unmix on pictures: InstaHide's encodings as sparse mixes, of candidates or of pictures that are found on the way.

docs/attacks/instahide.md explains the method. Both attacks are given the scheme, which is public (how many pictures it
mixes), and the encoder, which says what a pixel is; neither is given labels, nor how many private pictures there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench import Floats, Guess, Protocol, UsageError, View, attack
from bench.attacks.common.pixels import decoded, scheme_of_pixels
from bench.toolkit.pictures import shape_of


@attack(
    "unmix-pictures",
    sees={"encodings", "corpus", "defense", "encoder"},
    paper="this suite: docs/attacks/instahide.md",
    protocol=Protocol(examples=1000, epochs=1),
    on=("images",),
)
@dataclass(frozen=True)
class UnmixPictures:
    """Single encodings, by a corpus that holds the pictures: pursuit on expected signs, certainty by the residual."""

    starts: int = 4
    """first pictures tried for an encoding that is not explained"""
    cycles: int = 3
    """how many times each slot of a mix is emptied and filled again"""

    def __post_init__(self) -> None:
        if self.starts < 1 or self.cycles < 0:
            raise ValueError("starts must be at least 1, and cycles 0 or more")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.unmix_pictures.pursuit import SOLVED
        from bench.attacks.unmix_pictures.single import name_members, private_pictures

        encodings, corpus = np.asarray(view.encodings), np.asarray(view.corpus.vectors)
        scheme = scheme_of_pixels(view, encodings.shape[1], rng)
        candidates = corpus
        if scheme.public and view.defense.public is not None:
            candidates = np.concatenate([corpus, view.defense.public.vectors])
        mixes = name_members(
            encodings,
            candidates,
            shape_of(encodings.shape[1]),
            scheme.k,
            starts=self.starts,
            cycles=self.cycles,
            stage=view.stage,
        )
        named = private_pictures(mixes, candidates, len(corpus), scheme.private)
        images = decoded(view, named.reshape(-1, encodings.shape[1]))
        solved = float((mixes.residual <= SOLVED).mean())
        return Guess(images=images.reshape(*named.shape[:2], *images.shape[1:]), details={"explained": solved})


@attack(
    "unmix-blind",
    sees={"encodings", "defense", "encoder"},
    paper="this suite: docs/attacks/instahide.md",
    protocol=Protocol(examples=100, epochs=50),
    on=("images",),
)
@dataclass(frozen=True)
class UnmixBlind:
    """All encodings together, without candidates, labels or training: pictures and mixes in turn."""

    rounds: int = 12
    """how many times all mixes are decoded and all pictures fitted"""
    clusters: int = 0
    """of encodings, for the first pictures; 0: one for every 25 encodings"""
    answer: Literal["pool", "items"] = "pool"
    """all pictures found, or for each encoding the one that weighs most in it, as the InstaHide challenge asks"""

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.clusters < 0:
            raise ValueError("rounds must be at least 1, and clusters 0 or more")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.unmix_pictures.blind import recover

        encodings = np.asarray(view.encodings)
        shape = shape_of(encodings.shape[1])
        scheme = scheme_of_pixels(view, encodings.shape[1], rng)
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
        images = decoded(view, self.settled(view, found.pictures, rng))
        details = {"pictures": len(images), "median_residual": float(np.median(found.mixes.residual))}
        if self.answer == "pool":
            return Guess(images=images, details=details)
        heaviest = np.take_along_axis(found.mixes.support, found.mixes.weights.argmax(axis=1)[:, None], axis=1)
        return Guess(images=images[heaviest], details=details)

    def settled(self, view: View, pictures: Floats, rng: np.random.Generator) -> Floats:
        """Pictures of the right sign and scale, which `recover` settles where all that is mixed is private."""
        return pictures


@attack(
    "unmix-cross",
    sees={"encodings", "defense", "encoder", "public"},
    paper="this suite: docs/attacks/instahide.md",
    protocol=Protocol(examples=100, epochs=50),
    on=("images",),
)
@dataclass(frozen=True)
class UnmixCross:
    """As unmix-blind, with a known list of public pictures: these are decoded first, private ones are what is left."""

    rounds: int = 8
    """how many times mixes are decoded and private pictures fitted"""
    most: int = 2000
    """encodings that serve each round, drawn anew"""
    answer: Literal["pool", "items"] = "pool"
    """all pictures found, or for each encoding the private one that weighs most in it"""

    def __post_init__(self) -> None:
        if self.rounds < 2 or self.most < 2:
            raise ValueError("rounds and most must be at least 2")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        from bench.attacks.unmix_pictures.cross import recover

        encodings = np.asarray(view.encodings)
        scheme = scheme_of_pixels(view, encodings.shape[1], rng)
        if not scheme.public:
            raise UsageError("this scheme mixes in no public pictures: use unmix-blind")
        found = recover(
            encodings,
            np.asarray(view.public.vectors),
            shape_of(encodings.shape[1]),
            scheme.k,
            scheme.private,
            rng,
            rounds=self.rounds,
            most=self.most,
            stage=view.stage,
        )
        images = decoded(view, found.pictures)
        details = {"pictures": len(images), "median_residual": float(np.median(found.mixes.residual))}
        if self.answer == "pool":
            return Guess(images=images, details=details)
        return Guess(images=images[found.mixes.support[:, :1]], details=details)
