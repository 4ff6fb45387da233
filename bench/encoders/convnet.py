"""`convnet`: the pixels, as `pixels` has them, and for utility a small convolutional net that learns from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bench.encoders.pixels import Pixels
from bench.plugins.decorators import encoder


@encoder("convnet", paper="Huang et al. 2020 (InstaHide), section 5.1, scaled down", on=("images",))
@dataclass(frozen=True)
class ConvNet(Pixels):
    """Pixels, and three blocks of convolutions to learn from what a defense makes of them (bench utility)."""

    input: Literal["abs", "signed"] = "abs"
    """what the net is given: magnitudes, since signs are noise, or encodings as they are"""
    inference: Literal["plain", "averaged"] = "plain"
    """a picture as it is, or the mean answer to ten encodings of it, as the authors do"""
    train_epochs: int = 6
    """passes over the train set, each with fresh encodings"""

    net: ClassVar[str] = "convolutions"
    """what learns, in bench.training"""

    def __post_init__(self) -> None:
        if self.train_epochs < 1:
            raise ValueError("train_epochs must be at least 1")
