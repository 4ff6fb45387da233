"""Cross-dataset InstaHide whose public pictures are unknown: unmix-blind, and the mean of other public pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Floats, View, attack
from bench.attacks.common.pixels import TRIED, last_sign
from bench.attacks.unmix_pictures import UnmixBlind
from bench.plugins.protocol import Protocol


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

    def settled(self, view: View, pictures: Floats, rng: np.random.Generator) -> Floats:
        public = np.asarray(view.public.vectors)
        return pictures * last_sign(pictures, public) / private_share(view, pictures.shape[1], rng)


def private_share(view: View, width: int, rng: np.random.Generator) -> np.float32:
    """What private pictures weigh in a mix, on average: recovery takes it for 1, and makes them fainter by it."""
    noise = rng.standard_normal((TRIED, width)).astype(np.float32)
    _, key = view.defense.release(noise, np.zeros((TRIED, 1), np.float32), rng, epochs=4)
    return np.float32(np.where(np.asarray(key.members) >= 0, key.weights, 0).sum(axis=1).mean())
