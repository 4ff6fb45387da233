"""`pixels`: no network at all. InstaHide mixes and masks the pictures themselves, channels normalised.

The normalisation is what makes a sign mask hide anything: pixels in [0, 1] have one sign, and abs() takes the mask off.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.arrays import Floats
from bench.plugins.decorators import encoder
from bench.toolkit.pictures import STATISTICS, shape_of


@encoder("pixels", paper="Huang et al. 2020 (InstaHide), table 3", on=("images",))
@dataclass(frozen=True)
class Pixels:
    """Every pixel, less its channel's mean and divided by its spread: for pictures that are hidden as they are."""

    normalise: Literal["auto", "cifar10", "mnist", "none"] = "auto"
    """whose channel statistics: auto takes cifar10's for colour, mnist's for grey; none leaves pixels in [0, 1]"""

    def encode(self, images: Floats, device: str = "cpu") -> Floats:
        """n × c × h × w in [0, 1] → n × (c · h · w)"""
        images = np.asarray(images, dtype=np.float32)
        mean, spread = self._statistics(images.shape[1])
        vectors: Floats = ((images - mean) / spread).reshape(len(images), -1)
        return vectors

    def decode(self, vectors: Floats) -> Floats:
        """The opposite, for square pictures. Values may lie outside [0, 1]."""
        vectors = np.asarray(vectors, dtype=np.float32)
        shape = shape_of(vectors.shape[1])
        mean, spread = self._statistics(shape[0])
        images: Floats = vectors.reshape(-1, *shape) * spread + mean
        return images

    def _statistics(self, channels: int) -> tuple[Floats, Floats]:
        """Mean and spread, as columns of channels."""
        name = self.normalise
        if name == "auto":
            name = "mnist" if channels == 1 else "cifar10"
        given = STATISTICS[name]
        # Statistics of one channel serve for all; those of colour, averaged, for grey.
        mean, spread = (np.full(channels, np.mean(part)) if len(part) != channels else np.array(part) for part in given)
        return mean.astype(np.float32).reshape(-1, 1, 1), spread.astype(np.float32).reshape(-1, 1, 1)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"pixels|{self.normalise}".encode()).hexdigest()[:16]
