"""The updates of a training: for each batch what the client sends the server, and the model that it trains.

What an update is made of, from the defended loss to the defense's own change of it, is a matter of training; a round
(bench.training.updates) brings it along. Here it is laid out: of each update the tensors that the attack declares and
nothing else, one update at a time, rows of an embedding's gradient only where they are not zero; and beside them what
an eavesdropper has: the weights, the tokenizer, the size of the batch and the longest text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from bench.arrays import Floats
from bench.encoders import wordpieces
from bench.encoders.packed import Architecture
from bench.errors import UsageError
from bench.surfaces.base import Client, Surface, save
from bench.surfaces.seen import ROWS, SeenUpdates

if TYPE_CHECKING:
    from torch import Tensor

# Tensors with a row for each word or place, most of which no batch touches.
SPARSE = ("embeddings.word", "embeddings.position")


class Round(Protocol):
    """A client's side of some rounds of training, an update for each of its batches."""

    tokenizer: Any
    max_length: int
    batch: int
    held: dict[str, Tensor]
    """the weights that the attacker has"""

    @property
    def architecture(self) -> Architecture: ...

    @property
    def lowest(self) -> int | None:
        """The lowest layer that is shared."""

    @property
    def difference(self) -> bool:
        """Whether differences of weights are sent."""

    def named(self, tensor: str) -> str:
        """A tensor's own name, where an attack asks for one of the `first`, `second` or `last` layer that is shared."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all tensors that are shared."""

    def __len__(self) -> int:
        """Updates."""

    def updates(self, names: list[str]) -> Iterator[dict[str, Floats]]:
        """Some tensors of each update."""

    @property
    def notes(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class TrainingClient(Client):
    """A client that takes part in a training."""

    round: Round
    wanted: tuple[str, ...] = ()
    """tensors of an update that the attack declares"""


@dataclass(frozen=True)
class Updates(Surface):
    """Made one by one when they are written."""

    gives: ClassVar[tuple[str, ...]] = ("updates",)
    also: ClassVar[tuple[str, ...]] = ("bench.training.updates:ClientRound", "bench.experiment.rounds:build")

    round: Round
    names: list[str]

    @classmethod
    def build(cls, client: Client) -> Self:
        if not isinstance(client, TrainingClient):
            raise UsageError("updates are those of a transformer that is trained: choose --encoder minilm or the like")
        shared = client.round.shapes()
        return cls(
            client.round, [name for name in dict.fromkeys(map(client.round.named, client.wanted)) if name in shared]
        )

    @property
    def notes(self) -> dict[str, Any]:
        return self.round.notes

    def size(self) -> int:
        shapes = self.round.shapes()
        each = sum(int(np.prod(shapes[name])) for name in self.names)
        return 4 * (len(self.round) * each + sum(value.numel() for value in self.round.held.values()))

    def write(self, folder: Path) -> dict[str, Any]:
        from safetensors.torch import save_file

        place = folder / "updates"
        place.mkdir()
        save_file({name: value.contiguous() for name, value in self.round.held.items()}, place / "model.safetensors")
        wordpieces.save(self.round.tokenizer, place / "tokenizer.json")
        for number, update in enumerate(self.round.updates(self.names)):
            (place / str(number)).mkdir()
            for name, value in update.items():
                rows = np.flatnonzero(value.any(axis=1)) if name in SPARSE else None
                if rows is not None:
                    np.save(place / str(number) / f"{name}{ROWS}.npy", rows, allow_pickle=False)
                save(place / str(number) / f"{name}.npy", value if rows is None else value[rows])
        return {
            "count": len(self.round),
            "batch": self.round.batch,
            "max_length": self.round.max_length,
            "architecture": asdict(self.round.architecture),
            "lowest": self.round.lowest,
            "difference": self.round.difference,
            "shared": {name: list(shape) for name, shape in self.round.shapes().items()},
        }

    @staticmethod
    def open(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
        return {"updates": SeenUpdates(folder / "updates", facts)}
