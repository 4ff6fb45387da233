"""How much is attacked: private examples, encodings of each, candidates, coverage."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Literal

from bench.errors import UsageError


@dataclass(frozen=True)
class Protocol:
    """Each attack carries its paper's; the command line can override any part of it."""

    examples: int = 1000
    """private examples"""
    epochs: int = 1
    """encodings of each example"""
    candidates: int | None = None
    """sentences in the attacker's corpus; None for the whole train set"""
    coverage: float = 1.0
    """share of the private examples that the attacker's corpus contains"""
    split: Literal["train", "dev"] = "train"
    """where private examples come from; with dev, the corpus is train and dev, and train is known not to be private"""

    def __post_init__(self) -> None:
        if self.examples < 2:
            raise UsageError(f"--examples {self.examples}: at least 2 private examples are needed to mix")
        if self.epochs < 1:
            raise UsageError(f"--epochs {self.epochs}: at least 1 encoding of each example is needed")
        if self.candidates is not None and self.candidates < 1:
            raise UsageError(f"--candidates {self.candidates}: the corpus needs at least one sentence")
        if not 0.0 <= self.coverage <= 1.0:
            raise UsageError(f"--coverage {self.coverage}: must lie between 0 and 1")
        if self.split not in ("train", "dev"):
            raise UsageError(f"--split {self.split}: expected train or dev")
        if self.candidates is not None and self.candidates < self.examples * self.coverage:
            raise UsageError(
                f"a corpus of {self.candidates} candidates cannot hold the {self.examples} private examples: "
                "raise --candidates, or lower --examples or --coverage"
            )

    def fitted(self, available: int) -> Protocol:
        """The published size where the data set allows it, else all of the data set."""
        return replace(self, examples=min(self.examples, available))

    def as_dict(self) -> dict[str, int | float | str | None]:
        return asdict(self)
