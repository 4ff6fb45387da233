"""Encodings out of gradients, in closed form: at batch 1 a layer's weight gradient is δ ⊗ x, its bias gradient δ.

So every row of the first layer's weight gradient is a multiple of its input, and the bias gradient says which: the
input follows exactly, whatever lies behind the layer. It is the defended encoding, mixed and masked. The attack then
searches the corpus for it as `rss` does; where it scores like `rss`, head gradients gave away all that encodings do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench import Guess, Protocol, View, attack


@attack(
    "gradient-ratio",
    sees={"gradients", "corpus"},
    paper="closed form, as in Phong et al. 2017 and Zhu and Blaschko 2021 (R-GAP)",
    protocol=Protocol(examples=500, epochs=1),
)
@dataclass(frozen=True)
class GradientRatio:
    """The first layer's input, exactly, from its weight and bias gradients; then the nearest sentences."""

    top: int = 16
    """sentences named for each item, best first"""

    def __post_init__(self) -> None:
        if self.top < 1:
            raise ValueError("top must be at least 1")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        if view.model.batch != 1:
            raise ValueError(
                f"the gradients are means over batches of {view.model.batch}; their ratio is an input only at batch 1"
            )
        vectors, dead = inputs(view.gradients["head1.weight"], view.gradients["head1.bias"])
        return Guess(ranking=view.corpus.search(vectors, self.top), details={"without_gradient": int(dead.sum())})


def inputs(
    weight: npt.NDArray[np.float32], bias: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """n × d inputs of a layer from its gradients, n × out × d and n × out; and which items have none at all.

    Least squares over all units, Σ δ G / Σ δ²: units that are dead (δ = 0, behind a ReLU) count for nothing, and none
    that is nearly so is divided by. Where every unit is dead the gradient says nothing, and the input is given as 0.
    """
    scale = np.abs(bias).max(axis=1).astype(np.float64)
    dead = scale == 0
    # Divided by the largest first: the squares of small gradients would underflow.
    delta = bias / np.where(dead, 1.0, scale)[:, None]
    found = np.empty((len(bias), weight.shape[2]), dtype=np.float32)
    for at in range(0, len(found), 64):  # the gradients are mapped: a few hundred MiB at a time
        rows = slice(at, at + 64)
        total = np.einsum("no,nod->nd", delta[rows], weight[rows].astype(np.float64))
        square = np.where(dead[rows], 1.0, (delta[rows] ** 2).sum(axis=1) * scale[rows])
        found[rows] = total / square[:, None]
    return found, dead
