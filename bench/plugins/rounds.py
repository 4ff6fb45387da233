"""What a client sends in a round of training, and how much of it is attacked: `--batch` and `--update`."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bench.errors import UsageError
from bench.plugins.options import build, split
from bench.plugins.protocol import Protocol

# Updates that are attacked where nobody says how many.
BATCHES = 5
# Sizes that only attacks on updates have.
SIZES = ("batch", "update")
_SHARES = re.compile(r"all|encoder|layers|head|top:[1-9]\d*")


@dataclass(frozen=True)
class Update:
    """How a client makes its update: the gradient of the mean loss over a batch, or what local steps changed."""

    share: str = "all"
    """what is trained and sent: all, encoder (no head), layers (no embeddings), top:N (top layers and head), head"""
    precision: Literal["float32", "bf16", "fp16"] = "float32"
    """of the numbers that are sent"""
    dropout: float = 0.0
    """in embeddings, layers and head, while the update is made"""
    steps: int = 1
    """local steps, each on its part of the batch; 1: the gradient itself is sent, else the change of the weights"""
    optimizer: Literal["sgd", "adamw"] = "sgd"
    """of the local steps"""
    rate: float = 0.01
    """of the local steps"""

    def __post_init__(self) -> None:
        if not _SHARES.fullmatch(self.share):
            raise ValueError(f"share={self.share}: expected all, encoder, layers, head, or top:N with N from 1 on")
        if not 0 <= self.dropout < 1:
            raise ValueError("dropout must lie between 0 and 1, 1 not included")
        if self.steps < 1:
            raise ValueError("steps must be at least 1")
        if not 0 < self.rate < math.inf:
            raise ValueError("rate must be above 0 and finite")

    @property
    def label(self) -> str:
        """As one would type it."""
        fields = dataclasses.fields(self)
        return ",".join(f"{f.name}={value}" for f in fields if (value := getattr(self, f.name)) != f.default)

    @property
    def difference(self) -> bool:
        """Whether what is sent is a difference of weights and no gradient."""
        return self.steps > 1 or self.optimizer != "sgd"


def parse(text: str) -> Update:
    """`share=top:2,precision=bf16`, or nothing for the plain gradient."""
    found: Update = build(Update, split(f"update:{text}")[1], "--update")
    return found


@dataclass(frozen=True)
class UpdateProtocol(Protocol):
    """How much is attacked where updates are seen: examples / batch updates of `batch` sentences each."""

    examples: int = 32 * BATCHES
    batch: int = 32
    """sentences in an update"""
    update: str = ""
    """how it is made: the options of Update that differ from their defaults"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < 1:
            raise UsageError(f"--batch {self.batch}: at least one sentence makes an update")
        if self.batch > self.examples:
            raise UsageError(f"--batch {self.batch} is above --examples {self.examples}: lower it, or raise --examples")
        if self.examples % self.batch:
            raise UsageError(
                f"--examples {self.examples} do not fill updates of {self.batch}: give a multiple of --batch"
            )
        if self.epochs != 1:
            raise UsageError(f"--epochs {self.epochs}: every sentence is in one update; leave it out")
        if (steps := parse(self.update).steps) > self.batch:
            raise UsageError(f"--update steps={steps}: a batch of {self.batch} has too few sentences; lower steps")
        object.__setattr__(self, "update", parse(self.update).label)

    @property
    def how(self) -> Update:
        return parse(self.update)

    def fitted(self, available: int) -> UpdateProtocol:
        if self.batch > available:
            raise UsageError(f"--batch {self.batch}: there are {available} different sentences; lower it")
        return dataclasses.replace(self, examples=min(self.examples, available) // self.batch * self.batch)

    def drawn_by(self) -> dict[str, Any]:
        """What the choice of sentences depends on: the same ones whatever an update is made of."""
        return {name: value for name, value in self.as_dict().items() if name not in SIZES}


def sized(protocol: Protocol, given: Mapping[str, Any]) -> Protocol:
    """An attack's protocol with the sizes that a user gives."""
    if isinstance(protocol, UpdateProtocol):
        if "batch" in given and "examples" not in given:
            given = {**given, "examples": max(2, BATCHES * given["batch"])}
    elif named := [size for size in SIZES if size in given]:
        raise UsageError(
            f"--{named[0]} is for attacks on updates, such as span: leave it out, or choose one of those "
            "(bench list attacks)"
        )
    return dataclasses.replace(protocol, **given)


def from_sizes(sizes: Mapping[str, Any]) -> Protocol:
    """The protocol that a record or a declaration holds."""
    if sizes.get("batch") is None:
        return Protocol(**{name: value for name, value in sizes.items() if name not in SIZES})
    return UpdateProtocol(**sizes)
