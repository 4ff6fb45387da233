"""Small scenarios whose gradients are known: an image model and a text head, under a key that the test holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bench import Corpus, Examples, Key, Release, View, mixing
from bench.isolation import view
from bench.surfaces import Surface
from bench.surfaces.encodings import Encodings
from bench.surfaces.gradients import Gradients
from bench.surfaces.labels import Labels
from bench.toolkit.networks import Victim, body_weights, head_weights, layer


@dataclass
class GradientScenario:
    victim: Victim
    images: np.ndarray | None
    vectors: np.ndarray
    labels: np.ndarray
    key: Key

    @property
    def source(self) -> Gradients:
        n = len(self.vectors)
        private = Examples([f"example {i}" for i in range(n)], np.zeros(n, int), ("a",), self.images)
        return Gradients(self.victim, self.labels, mixing.apply(self.vectors, self.key), private, self.key)

    def gradients(self) -> dict[str, np.ndarray]:
        parts = [found for _, found in self.source.blocks()]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def exact_gradients(self) -> dict[str, np.ndarray]:
        """In double precision, by plain autograd through bench.mixing.apply on all examples at once."""
        weights = {n: w.requires_grad_() for n, w in self.victim.tensors(torch.float64).items()}
        inputs = torch.tensor(self.vectors if self.images is None else self.images, dtype=torch.float64)
        labels = torch.tensor(self.labels, dtype=torch.float64)
        found: dict[str, list[np.ndarray]] = {name: [] for name in weights}
        for i in range(len(self.key.owner)):
            released = mixing.apply(self.victim.represent(weights, inputs), self.key)
            loss = self.victim.loss(weights, released[i : i + 1], labels[i : i + 1])
            for name, value in zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True):
                found[name].append(value.numpy())
        return {name: np.stack(values) for name, values in found.items()}

    def view(self, folder: Path, sees: set[str], defense: dict | None = None, corpus: Corpus | None = None) -> View:
        released = {
            "encodings": Encodings(mixing.apply(self.vectors, self.key)),
            "labels": Labels(self.labels),
            "gradients": self.source,
        }
        view.write(folder, sorted(sees), released, corpus=corpus, defense=defense)
        return View(folder, make=_make)


def surfaces_of(release: Release) -> dict[str, Surface]:
    """What a view is written from, for a release without gradients."""
    encodings = np.asarray(release.encodings, np.float32)
    labels = np.zeros((len(encodings), 1)) if release.labels is None else release.labels
    return {"encodings": Encodings(encodings), "labels": Labels(np.asarray(labels, np.float32))}


def _make(kind: str, reference: dict) -> object:
    from bench.plugins.registry import Registry

    return Registry().make(kind, reference["spec"])


def draw_key(n: int, k: int, dim: int, m: int, rng: np.random.Generator) -> Key:
    members = mixing.draw_members(n, k, 1, rng, batch="all", distinct=True)
    mask, pool = mixing.draw_masks(n, dim, m, rng)
    return Key(members[:, 0], members, mixing.draw_weights(n, k, "half-normal", rng), mask, pool)


def image_scenario(
    n: int = 3, d: int = 6, k: int = 1, m: int = 1, side: int = 8, channels: int = 1, seed: int = 0
) -> GradientScenario:
    rng = np.random.default_rng(seed)
    picture = (channels, side, side)
    weights = body_weights(picture, d, rng)
    dim = d or weights["conv3.bias"].size * (side // 4) ** 2
    victim = Victim({**weights, **layer("head1", (4, dim), rng)}, picture)
    images = rng.random((n, *picture), dtype=np.float32)
    key = draw_key(n, k, dim, m, rng)
    labels = mixing.mix(np.eye(4, dtype=np.float32)[rng.integers(0, 4, n)], key.members, key.weights)
    return GradientScenario(victim, images, np.zeros((n, dim), np.float32), labels, key)


def text_scenario(n: int = 5, dim: int = 12, k: int = 2, m: int = 3, seed: int = 0) -> GradientScenario:
    rng = np.random.default_rng(seed)
    victim = Victim(head_weights(dim, 3, 3, np.random.default_rng(seed)))
    key = draw_key(n, k, dim, m, rng)
    labels = mixing.mix(np.eye(3, dtype=np.float32)[rng.integers(0, 3, n)], key.members, key.weights)
    return GradientScenario(victim, None, rng.standard_normal((n, dim)).astype(np.float32), labels, key)
