"""Template matching: what a scheme makes of every candidate on average, and which of these is nearest to an encoding.

The scheme is public, so an attacker runs it on the candidates, with every label and fresh randomness, until noise has
averaged out. Whatever a scheme does before it adds noise (clip, project, multiply by the label, mix) is then in the
template, and where noise is Gaussian and the same for all, the nearest template is the likeliest candidate. Fresh masks
average out, too, and leave nothing: for these there is `unmix`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench import Floats, Guess, Ints, Protocol, View, attack

# Encodings compared with all candidates at a time: 256 × 67,349 distances are 69 MB.
BLOCK = 256


@attack(
    "template",
    sees={"encodings", "labels", "corpus", "defense"},
    paper="this suite; template attacks: Chari, Rao and Rohatgi 2002",
    protocol=Protocol(examples=1000, epochs=1),
)
@dataclass(frozen=True)
class Template:
    """Names the candidates whose mean release, over runs of one's own, is nearest to each encoding."""

    runs: int = 64
    """releases of one's own of all candidates, for every label"""
    top: int = 16
    """sentences named for each encoding, best first"""

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ValueError("runs must be at least 1")
        if self.top < 1:
            raise ValueError("top must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        encodings, told = np.asarray(view.encodings), np.asarray(view.labels)
        classes = np.eye(told.shape[1], dtype=np.float32)
        # A single column is a score: its two ends stand for it.
        labels = classes if len(classes) > 1 else np.array([[told.min()], [told.max()]], dtype=np.float32)
        templates = [self._mean_release(view, label, rng) for label in labels]
        lengths = [np.einsum("nd,nd->n", each, each) for each in templates]
        view.stage("comparing with templates")
        blocks = [
            self._nearest(encodings[at : at + BLOCK], templates, lengths) for at in range(0, len(encodings), BLOCK)
        ]
        return Guess(ranking=np.concatenate(blocks))

    def _nearest(self, encodings: Floats, templates: list[Floats], lengths: list[Floats]) -> Ints:
        """Candidates by the distance of the nearest of their templates."""
        distance = np.min([own - 2 * encodings @ each.T for each, own in zip(templates, lengths, strict=True)], axis=0)
        top = min(self.top, distance.shape[1])
        first = np.argpartition(distance, top - 1, axis=1)[:, :top]
        order = np.take_along_axis(distance, first, axis=1).argsort(axis=1, kind="stable")
        found: Ints = np.take_along_axis(first, order, axis=1)
        return found

    def _mean_release(self, view: View, label: Floats, rng: np.random.Generator) -> Floats:
        """candidates × d. In another order every time, since a scheme may treat rows by their place."""
        vectors = np.asarray(view.corpus.vectors)
        told = np.repeat(label[None], len(vectors), axis=0)
        total = np.zeros(vectors.shape, dtype=np.float64)
        for run in range(self.runs):
            view.stage(f"running the scheme, {run + 1} of {self.runs}")
            order = rng.permutation(len(vectors))
            release, key = view.defense.release(vectors[order], told, rng)
            np.add.at(total, order[np.asarray(key.owner)], np.asarray(release.encodings))
        mean: Floats = (total / self.runs).astype(np.float32)
        return mean
