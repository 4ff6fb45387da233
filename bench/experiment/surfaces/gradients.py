"""The gradient surface: instead of encodings, a client releases the gradients of its loss on each defended item.

Which surface a cell has follows from its attack: one that sees `gradients` gets these, and the model. Each item is a
batch of its own (batch 1, the easiest setting for the attacker, as in TextHide's section 4.3). The key that the defense
drew for the encodings decides mix and mask here too.

Gradients are made in blocks of BLOCK bytes when a view is laid out, and never held all at once. On disk they take
items × parameters × 4 bytes, at most LIMIT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.arrays import Floats
from bench.errors import DataError, UsageError
from bench.system.seeds import generator
from bench.toolkit.networks import Victim, head_weights, layer
from bench.types import Examples, Key, Release

if TYPE_CHECKING:
    from bench.experiment.cells import Cell

LIMIT = 4 << 30
BLOCK = 128 << 20
# Hidden layers of the head for text, as it is trained in bench.experiment.utility.
HEAD_LAYERS = 3


@dataclass(frozen=True)
class Gradients:
    """What every item's gradient follows from. Pictures pass through mix and mask; vectors of text did so already."""

    victim: Victim
    labels: Floats
    encodings: Floats
    images: Floats | None
    key: Key

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: (len(self.labels), *weight.shape) for name, weight in self.victim.weights.items()}

    def blocks(self) -> Iterator[tuple[slice, dict[str, Floats]]]:
        """Rows, and the gradients of each layer's weights for them."""
        import torch
        from torch.func import grad, vmap

        # Double precision: what is released is the gradient to the last bit of float32.
        weights = self.victim.tensors(torch.float64)
        each = vmap(grad(self._loss), in_dims=(None, 0, 0, 0, 0, 0))
        size = max(1, BLOCK // (self.victim.parameters * 8))
        for at in range(0, len(self.labels), size):
            rows = slice(at, at + size)
            found = each(weights, *(torch.as_tensor(part, dtype=torch.float64) for part in self._parts(rows)))
            yield rows, {name: value.float().numpy() for name, value in found.items()}

    def _parts(self, rows: slice) -> tuple[Any, ...]:
        labels, key = self.labels[rows], self.key
        n, dim = len(labels), self.victim.dim
        if self.images is None:
            return self.encodings[rows, None], np.ones((n, 1)), np.zeros((n, dim)), np.ones((n, dim)), labels
        members = key.members[rows]
        share = key.weights[rows] if key.scale is None else key.weights[rows] * key.scale[members]
        noise = np.zeros((n, dim)) if key.noise is None else key.noise[rows]
        mask = np.ones((n, dim)) if key.mask is None or key.pool is None else key.pool[key.mask[rows]]
        return self.images[members], share, noise, mask, labels

    def _loss(self, weights: Any, inputs: Any, share: Any, noise: Any, mask: Any, label: Any) -> Any:
        """Of one item: bench.mixing.apply, written for k inputs of its own so that vmap can take it."""
        mixed = share @ self.victim.represent(weights, inputs)
        return self.victim.loss(weights, ((mixed + noise) * mask)[None], label[None])


def surface(cell: Cell, release: Release, key: Key, private: Examples) -> Release:
    """The same release with gradients and model in it."""
    victim = _victim(cell, np.asarray(release.encodings).shape[1], private)
    size = len(key.owner) * victim.parameters * 4
    if size > LIMIT:
        most = LIMIT // (victim.parameters * 4)
        raise UsageError(
            f"gradients of {len(key.owner)} items × {victim.parameters:,} parameters take {size >> 20} MiB, above the "
            f"limit of {LIMIT >> 20} MiB: lower --examples (times --epochs) to {most}, or take a smaller encoder"
        )
    if private.images is not None and key.public is not None:
        raise UsageError(f"defense {cell.defense.name!r} mixes public text, which cannot be mixed with pictures")
    notes = {**release.notes, "parameters": victim.parameters}
    if victim.dim < victim.outputs:
        notes["narrow"] = f"the representation has {victim.dim} dimensions for {victim.outputs} classes"
    encodings, labels = (np.asarray(part, dtype=np.float32) for part in (release.encodings, release.labels))
    gradients = Gradients(victim, labels, encodings, private.images, key)
    return Release(release.encodings, release.labels, notes, gradients, victim)


def _victim(cell: Cell, dim: int, private: Examples) -> Victim:
    classes = private.targets().shape[1]
    words = (cell.seed, "head", dim, classes)
    if private.images is None:
        weights = head_weights(dim, classes, HEAD_LAYERS, generator(*words))
        return Victim(weights, classes=bool(private.classes))
    encoder = cell.encoder.plugin
    if not hasattr(encoder, "weights"):
        raise DataError(
            f"encoder {cell.encoder.name!r} has no weights(picture), so there are no gradients to release: "
            "choose one that has (bench list encoders)"
        )
    picture = tuple(private.images.shape[1:])
    weights = {**encoder.weights(picture), **layer("head1", (classes, dim), generator(*words))}
    return Victim(weights, picture, bool(private.classes))
