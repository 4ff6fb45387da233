"""Federated clients: each has examples, batches and a pool of masks of its own, and mixes inside its batches.

A server that averages the gradients of clients computes the gradient of one batch made of theirs. So a step encodes the
batches of all clients at once; what is done client by client is what differs: mixing, masks and the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats, Ints
from bench.errors import BenchError, DataError, UsageError
from bench.toolkit import mixing
from bench.toolkit.corpus import Corpus
from bench.types import Examples, Key

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Masks:
    """The masks of a training: none, a pool that lasts, or a fresh one each time."""

    pool: npt.NDArray[np.int8] | None
    one_time: bool

    def share(self, client: int, clients: int) -> Masks:
        """A client's part of the pool: m masks in all are m / C for each of C clients."""
        if self.pool is None or self.one_time:
            return self
        if len(self.pool) < clients:
            raise UsageError(f"{len(self.pool)} masks cannot be shared by {clients} clients: raise m, or lower clients")
        bounds = np.arange(clients + 1) * len(self.pool) // clients
        return replace(self, pool=self.pool[bounds[client] : bounds[client + 1]])

    @property
    def key(self) -> Key:
        """For questions at inference (bench.training.judging)."""
        nobody = np.zeros(0, dtype=np.int64)
        return Key(nobody, nobody[:, None], np.zeros((0, 1), np.float32), pool=self.pool, one_time=self.one_time)


def draw_masks(defense: Any, dim: int, batch: int, outputs: int, public: bool, rng: np.random.Generator) -> Masks:
    """The masks that the defense would use, from a release of made-up vectors."""
    made_up = rng.standard_normal((batch, dim), dtype=np.float32)
    shared = Corpus([""] * batch, made_up) if public else None
    _, key = defense.release(made_up, np.zeros((batch, outputs), np.float32), shared, rng)
    return Masks(key.pool, key.one_time)


@dataclass
class Exposure:
    """How much of each example has been released: the sum of its weights, and of their squares."""

    total: Floats
    squares: Floats

    @classmethod
    def none(cls, examples: int) -> Exposure:
        return cls(np.zeros(examples, np.float32), np.zeros(examples, np.float32))

    def add(self, rows: Ints, key: Key) -> None:
        members = np.maximum(key.members, 0)
        weights = np.where(key.members < 0, np.float32(0), key.weights)
        # An example that fills two slots of one item counts with the sum of their weights.
        both = np.zeros((len(members), len(rows)), np.float32)
        np.add.at(both, (np.arange(len(members))[:, None], members), weights)
        self.total[rows] += both.sum(axis=0)
        self.squares[rows] += (both**2).sum(axis=0)

    def accounted(self, defense: Any, notes: dict[str, Any], dim: int) -> dict[str, Any]:
        """The notes of a release, with the ε over all that the most exposed example had a part in."""
        if "accounted" not in notes or not hasattr(defense, "composed"):
            return notes
        total, root = float(self.total.max()), float(np.sqrt(self.squares.max()))
        return {**notes, "accounted": {**notes["accounted"], "epsilon": defense.composed(notes, dim, total, root)}}


def shares(examples: Examples, rows: Ints, clients: int, rng: np.random.Generator) -> list[Ints]:
    """Which of the rows each client holds: a random part of near-equal size."""
    if clients > len(rows):
        raise UsageError(f"{clients} clients are more than {len(rows)} training examples: lower clients")
    parts = [np.sort(part) for part in np.array_split(rng.permutation(rows), clients)]
    if examples.classes:
        for number, part in enumerate(parts, 1):
            if len(np.unique(examples.labels[part])) < 2:
                raise DataError(
                    f"client {number} of {clients} holds examples of one class only: lower clients, or raise examples"
                )
    return parts


def batches(part: Ints, steps: int, rng: np.random.Generator) -> list[Ints]:
    """A client's batches of an epoch, of near-equal size."""
    return np.array_split(rng.permutation(part), steps)


def release(
    defense: Any,
    name: str,
    vectors: Tensor,
    targets: Floats,
    masks: Masks,
    public: Corpus | None,
    rng: np.random.Generator,
) -> tuple[Tensor, Tensor, Key, dict[str, Any]]:
    """One client's encodings and mixed labels of its batch, an item for each example; gradients flow through both."""
    import torch

    try:
        released, key = defense.release(vectors, targets, public, rng)
    except (BenchError, KeyboardInterrupt):
        raise
    except (RuntimeError, TypeError) as error:
        raise _not_differentiable(name, f" ({error})") from error
    encodings = released.encodings
    if not isinstance(encodings, torch.Tensor) or not encodings.requires_grad:
        raise _not_differentiable(name)
    if masks.pool is not None and not masks.one_time:  # the pool lasts, where the defense has just drawn another
        key = replace(key, pool=masks.pool, mask=rng.integers(0, len(masks.pool), len(key.owner)))
        encodings = mixing.apply(vectors, key, public)
    labels = torch.as_tensor(released.labels, dtype=encodings.dtype, device=encodings.device)
    return encodings, labels, key, released.notes


def _not_differentiable(name: str, detail: str = "") -> UsageError:
    return UsageError(
        f"defense {name!r} cannot be trained through: release must answer a torch tensor with one that gradients flow "
        f"through, as bench.toolkit.mixing.apply does{detail}"
    )


def check(defense: Any, name: str) -> None:
    """A defense may say that its promise does not hold through training, with its method `check_training`."""
    try:
        getattr(defense, "check_training", lambda: None)()
    except ValueError as error:
        raise UsageError(f"defense {name!r}: {error}") from error


def steps_of_epoch(parts: Sequence[Ints], batch: int) -> int:
    """So many that no client gives more to a step than its share of the batch."""
    each = max(1, batch // len(parts))
    return max(-(-len(part) // each) for part in parts)
