"""Deep leakage from gradients: optimise dummy inputs, and a dummy mask, until their gradients match those released.

As published by TextHide's authors: L-BFGS with a fixed step, everything unknown drawn from N(0, 1). All items are
attacked at once, independently of each other. docs/attacks/dlg.md says how, and what is read into the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from bench import Guess, Protocol, View, attack

PAPER = "Zhu et al. 2019; Huang et al. 2020 (TextHide), section 4.3, algorithm 3"


@attack(
    "dlg",
    sees={"gradients", "labels", "corpus", "defense"},
    paper=PAPER,
    protocol=Protocol(examples=50, epochs=1),
    on=("text", "images"),
)
@dataclass(frozen=True)
class DLG:
    """Gradient matching by L-BFGS, with a mask that is learnt; the label is known."""

    steps: int = 1200
    """calls of the optimiser"""
    inner: int = 20
    """iterations in each"""
    history: int = 100
    """pairs that L-BFGS remembers"""
    rate: float = 0.0
    """step size; 0: 1 for lbfgs, 0.1 for adam"""
    search: Literal["none", "strong-wolfe"] = "none"
    """line search: none, the fixed step, as published"""
    restarts: int = 1
    """attempts per item, of which the one with the smallest distance counts"""
    dummies: Literal["1", "k"] = "1"
    """inputs to optimise for a mix of k: one, as published, or k with learnt weights"""
    mask: Literal["auto", "learn", "none"] = "auto"
    """auto: learnt where the scheme has one"""
    optimizer: Literal["lbfgs", "adam"] = "lbfgs"
    """lbfgs, as published, or adam"""
    precision: Literal["float32", "float64"] = "float32"
    """of everything that is optimised"""
    batch: int = 64
    """attacks that run together; each takes 8 · history · pixels bytes in float32"""

    label_known: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("steps", "inner", "history", "restarts", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.rate < 0:
            raise ValueError("rate must be above 0, or 0 for the optimiser's own")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        # Imported here: whoever checks this attack's options need not wait for torch.
        from bench.attacks.dlg.match import match

        return match(view, self, rng)


@attack(
    "dlg-blind",
    sees={"gradients", "corpus", "defense"},
    paper=PAPER,
    protocol=Protocol(examples=50, epochs=1),
    on=("text", "images"),
)
@dataclass(frozen=True)
class DLGBlind(DLG):
    """Gradient matching without the label, which is optimised too."""

    label_known: ClassVar[bool] = False
