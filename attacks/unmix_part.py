"""Cross-dataset InstaHide of whose public pictures the attacker knows a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench import Corpus, Guess, View, attack
from bench.attacks.unmix_pictures import UnmixCross
from bench.plugins.protocol import Protocol


@attack(
    "unmix-part",
    sees={"encodings", "defense", "encoder", "public"},
    paper="this suite: docs/attacks/instahide.md",
    protocol=Protocol(examples=100, epochs=50),
    on=("images",),
)
@dataclass(frozen=True)
class UnmixPart(UnmixCross):
    """As unmix-cross, with a random part of the list of public pictures; the others are mixed in all the same."""

    coverage: float = 0.9
    """share of the public pictures that the attacker knows"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.coverage <= 1:
            raise ValueError("coverage must lie above 0 and be at most 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        public = view.public
        known = np.sort(rng.permutation(len(public.vectors))[: max(1, round(self.coverage * len(public.vectors)))])
        part = Corpus([public.texts[row] for row in known], np.asarray(public.vectors)[known])
        found: Guess = super().run(PartlyKnown(view, part), rng)  # type: ignore[arg-type]
        found.details["public"] = len(known)
        return found


class PartlyKnown:
    """The view, less public pictures that the attacker does not know."""

    def __init__(self, view: View, public: Corpus):
        self._view, self.public = view, public

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)
