"""`lenet`: an encoder for pictures, the stand-in with which TextHide's authors test gradients.

It is not trained: the papers attack the model as it was initialised. Its weights are public, and those who release
gradients release those of this body too (bench.surfaces.gradients).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from bench.arrays import Floats
from bench.plugins.decorators import encoder
from bench.system.seeds import generator

# Pictures encoded at a time: patches of 512 pictures take about 40 MiB.
BLOCK = 512


@encoder("lenet", paper="Zhu et al. 2019; Huang et al. 2020 (TextHide), appendix C.1", on=("images",))
@dataclass(frozen=True)
class LeNet:
    """Three 5×5 convolutions of 12 channels with sigmoids, then a hidden layer of size d: for pictures."""

    d: int = 0
    """size of the hidden layer; 0: none, the features themselves (the papers' vanilla architecture)"""
    init: int = 0
    """which random weights"""

    def __post_init__(self) -> None:
        if self.d < 0:
            raise ValueError("d must be at least 1, or 0 for no hidden layer")

    def encode(self, images: Floats, device: str = "cpu") -> Floats:
        """n × c × h × w in [0, 1] → n × d"""
        import torch

        from bench.toolkit.networks import Victim

        weights = self.weights(images.shape[1:])
        # The head takes no part in encoding; one of any size makes the model whole.
        victim = Victim(weights, tuple(images.shape[1:]))
        tensors = victim.tensors(device=device)
        with torch.inference_mode():
            parts = [
                victim.represent(tensors, torch.as_tensor(np.ascontiguousarray(images[at : at + BLOCK]), device=device))
                for at in range(0, len(images), BLOCK)
            ]
        vectors: Floats = torch.cat(parts).cpu().numpy()
        return vectors

    def weights(self, picture: tuple[int, ...]) -> dict[str, Floats]:
        """Public and trained on: gradients are released for these too."""
        from bench.toolkit.networks import body_weights

        return body_weights(tuple(picture), self.d, generator(self.init, "lenet", list(picture)))

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(f"lenet|{self.d}|{self.init}".encode()).hexdigest()[:16]
