"""Representation reconstruction: a network trained to turn encodings back into vectors, then similarity search."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import Floats, Guess, Protocol, View, attack

if TYPE_CHECKING:
    import torch


@attack(
    "rep-recon",
    sees={"encodings", "corpus", "oracle"},
    paper="Huang et al. 2020 (TextHide), appendix C.3 and tables 7 and 8",
    protocol=Protocol(examples=500, epochs=1, split="dev"),
)
@dataclass(frozen=True)
class RepRecon:
    """An MLP from encoding to vector, trained on the victim's encodings of sentences that the attacker chose."""

    epochs: int = 20
    """passes over the training sentences; each sees them encoded afresh"""
    queries: int = 10_000
    """corpus sentences that the victim is asked to encode, at most"""
    hidden: int = 1024
    """width of the two hidden layers"""
    rate: float = 1e-3
    """Adam's learning rate"""
    batch: int = 128
    """training pairs in a step"""
    top: int = 16
    """sentences named for each encoding, best first"""

    def __post_init__(self) -> None:
        for name in ("epochs", "queries", "hidden", "batch", "top"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if not self.rate > 0:
            raise ValueError("rate must be above 0")

    def run(self, view: View, rng: np.random.Generator) -> Guess:
        import torch

        # The sentences that are known not to be private, where there are such: the published attack queries on dev and
        # trains on train. Otherwise all, the private ones among them, and what comes out flatters the attack.
        known = view.corpus.known or len(view.corpus.texts)
        vectors = np.asarray(view.corpus.vectors[:known])
        rows = rng.permutation(len(vectors))
        # Some sentences are kept back to show, in the record, what the network learnt beyond its training pairs.
        held = rows[: min(500, len(rows) // 10)]
        train = vectors[rows[len(held) : len(held) + self.queries]]
        # A generator of the attack's own: the run repeats bit for bit and leaves torch's global state alone.
        torch_rng = torch.Generator().manual_seed(int(rng.integers(2**62)))
        mean, scale = _standard(train)
        model = self._network(vectors.shape[1], torch_rng).to(view.device)
        optimiser = torch.optim.Adam(model.parameters(), lr=self.rate)
        loss = 0.0
        for epoch in range(self.epochs):
            view.stage(f"training, epoch {epoch + 1} of {self.epochs}")
            released = view.oracle(train)
            loss = self._epoch(model, optimiser, released, (train - mean) / scale, torch_rng, view.device)
        view.stage("reconstructing")
        guess = self._apply(model, np.asarray(view.encodings), view.device) * scale + mean
        details: dict[str, Any] = {"training sentences": len(train), "training error": loss}
        if len(held):
            shown = self._apply(model, view.oracle(vectors[held]), view.device)
            details["held-out error"] = float(np.mean((shown - (vectors[held] - mean) / scale) ** 2))
        return Guess(ranking=view.corpus.search(guess, self.top), details=details)

    def _network(self, dim: int, rng: torch.Generator) -> torch.nn.Sequential:
        import torch

        sizes = (dim, self.hidden, self.hidden, dim)
        layers: list[torch.nn.Module] = []
        for wide, narrow in pairwise(sizes):
            linear = torch.nn.Linear(wide, narrow)
            bound = wide**-0.5  # torch's own default, drawn from our generator
            for parameter in linear.parameters():
                torch.nn.init.uniform_(parameter, -bound, bound, generator=rng)
            layers += [linear, torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1])

    def _epoch(
        self,
        model: torch.nn.Module,
        optimiser: torch.optim.Optimizer,
        encodings: Floats,
        targets: Floats,
        rng: torch.Generator,
        device: str,
    ) -> float:
        """One pass; the mean squared error along it, per coordinate of unit spread."""
        import torch

        x = torch.as_tensor(np.array(encodings, dtype=np.float32), device=device)
        y = torch.as_tensor(targets, device=device)
        total = torch.zeros((), device=device)
        for rows in torch.split(torch.randperm(len(x), generator=rng).to(device), self.batch):
            error = torch.nn.functional.mse_loss(model(x[rows]), y[rows])
            optimiser.zero_grad()
            error.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += error.detach() * len(rows)
        return float(total / max(len(x), 1))

    def _apply(self, model: torch.nn.Module, encodings: Floats, device: str) -> Floats:
        import torch

        with torch.inference_mode():
            blocks = torch.split(torch.as_tensor(np.array(encodings, dtype=np.float32)), 4096)
            done: Floats = torch.cat([model(block.to(device)).cpu() for block in blocks]).numpy()
        return done


def _standard(vectors: Floats) -> tuple[Floats, Floats]:
    """Mean and spread of the targets. Learning their deviations is the same problem, better conditioned."""
    spread = vectors.std(axis=0)
    return vectors.mean(axis=0), np.where(spread > 1e-5 * spread.max(initial=0.0), spread, 1).astype(np.float32)
