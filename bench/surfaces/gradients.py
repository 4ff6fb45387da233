"""The gradients of a client's loss on each defended item, and the model that they are of.

Each item is a batch of its own (batch 1, the easiest setting for the attacker, as in TextHide's section 4.3). The key
that the defense drew for the encodings decides mix and mask here too.

Gradients are made in blocks of BLOCK bytes when they are written, and never held all at once. On disk they take
items × parameters × 4 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from bench import modalities
from bench.arrays import Floats
from bench.surfaces.base import Client, Surface, load_all, save
from bench.system.seeds import generator
from bench.toolkit.networks import Victim
from bench.types import Examples, Key

BLOCK = 128 << 20


@dataclass(frozen=True)
class Gradients(Surface):
    """What every item's gradient follows from."""

    gives: ClassVar[tuple[str, ...]] = ("gradients", "model")
    uses: ClassVar[tuple[str, ...]] = ("victim", "inputs")

    victim: Victim
    labels: Floats
    encodings: Floats
    private: Examples
    key: Key

    @classmethod
    def build(cls, client: Client) -> Self:
        release, private = client.release, client.private
        encodings, labels = (np.asarray(part, dtype=np.float32) for part in (release.encodings, release.labels))
        dim = encodings.shape[1]
        rng = generator(client.seed, "head", dim, private.targets().shape[1])
        modality = modalities.of(private)
        victim = modality.victim(client.encoder, client.encoder_name, private, client.key, dim, rng)
        return cls(victim, labels, encodings, private, client.key)

    @property
    def notes(self) -> dict[str, Any]:
        victim = self.victim
        notes: dict[str, Any] = {"parameters": victim.parameters}
        if victim.dim < victim.outputs:
            notes["narrow"] = f"the representation has {victim.dim} dimensions for {victim.outputs} classes"
        return notes

    def size(self) -> int:
        return len(self.key.owner) * self.victim.parameters * 4

    def write(self, folder: Path) -> dict[str, Any]:
        for name in ("model", "gradients"):
            (folder / name).mkdir()
        for name, weight in self.victim.weights.items():
            save(folder / "model" / f"{name}.npy", weight)
        files = {
            name: np.lib.format.open_memmap(folder / "gradients" / f"{name}.npy", "w+", np.float32, shape)
            for name, shape in self.shapes().items()
        }
        for rows, found in self.blocks():
            for name, value in found.items():
                files[name][rows] = value
        for file in files.values():
            file.flush()
        return self.victim.facts()

    @staticmethod
    def open(folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
        """`gradients`: for each layer, by the name of its weights in `model`, n × the shape of the weights."""
        victim = Victim(load_all(folder / "model"), tuple(facts["picture"]), facts["classes"], facts["batch"])
        return {"gradients": load_all(folder / "gradients"), "model": victim}

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
        modality = modalities.of(self.private)
        for at in range(0, len(self.labels), size):
            rows = slice(at, at + size)
            parts = (*modality.inputs(self.private, self.encodings, self.key, rows), self.labels[rows])
            found = each(weights, *(torch.as_tensor(part, dtype=torch.float64) for part in parts))
            yield rows, {name: value.float().numpy() for name, value in found.items()}

    def _loss(self, weights: Any, inputs: Any, share: Any, noise: Any, mask: Any, label: Any) -> Any:
        """Of one item: bench.toolkit.mixing.apply, written for k inputs of its own so that vmap can take it."""
        mixed = share @ self.victim.represent(weights, inputs)
        return self.victim.loss(weights, ((mixed + noise) * mask)[None], label[None])
