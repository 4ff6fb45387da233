"""`--training`: whether the encoder stays as it was downloaded, or is fine-tuned through the defense, and how."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.errors import UsageError, unknown
from bench.plugins.options import build, split
from bench.plugins.source import explained

FROZEN, FINETUNED = "frozen", "finetuned"
Attacker = Literal["current", "stale", "initial"]
# Which weights of the encoder an attacker holds: those behind the release, those of an epoch before, those downloaded.
ATTACKERS = ("current", "stale", "initial")
# Options that say what of a training is looked at, and not how it goes.
LOOKS = ("at", "release_dropout")


@dataclass(frozen=True)
class Finetuned:
    """The encoder is trained through the defense in federated rounds, as in TextHide's algorithm 2."""

    epochs: int = 3
    """passes over the training examples; the one that is best on the held-out tenth counts"""
    examples: int = 0
    """of the train split that are used, drawn at random; 0: all. A tenth of them is held out"""
    layers: int = 0
    """top layers that are trained; 0: all, embeddings included"""
    batch: int = 32
    """examples in a step, of all clients together"""
    rate: float = 1e-4
    """learning rate of the encoder, at its highest"""
    head_rate: float = 1e-3
    """learning rate of the head, at its highest"""
    dropout: float = 0.1
    """in the trained layers and in the head"""
    clients: int = 1
    """with data, batches and mask pools of their own; a server averages"""
    local_steps: int = 1
    """steps that a client takes by itself before the server averages weights; 1: gradients are averaged"""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """with a linear warm-up over a tenth of the steps, and linear decay"""
    rep: Literal["cls", "pooler"] = "cls"
    """what the defense is given: the first token, or the pooler's output, as in the authors' code"""
    head: Literal["relu", "tanh-shared", "linear"] = "relu"
    """three hidden layers with ReLU; one layer applied three times with tanh, as in the authors' code; or none, so that
    there are few weights for noise to be added to"""
    search: int = 0
    """settings of rate and dropout that are tried before, and compared on held-out examples; 0: none"""
    at: float | Literal["each"] = 1.0
    """share of the training that is over when the attacker looks; 1: the model that counts; each: every released
    epoch comes from the weights of its own time"""
    release_dropout: bool = False
    """what the attacker sees was released with dropout on, as in training"""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "clients", "local_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        for name in ("examples", "layers", "search"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0")
        for name in ("rate", "head_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be above 0 and finite")
        if not 0 <= self.dropout < 1:
            raise ValueError("dropout must lie between 0 and 1, 1 not included")
        if self.at != "each" and not 0 < self.at <= 1:
            raise ValueError("at must be each, or lie between 0 and 1, 0 not included")
        if self.clients > self.batch:
            raise ValueError(f"a batch of {self.batch} cannot be shared by {self.clients} clients: raise batch")

    @property
    def label(self) -> str:
        """As one would type it."""
        changed = [
            f"{f.name}={value}" for f in dataclasses.fields(self) if (value := getattr(self, f.name)) != f.default
        ]
        return f"{FINETUNED}:{','.join(changed)}" if changed else FINETUNED

    def asked(self) -> dict[str, Any]:
        """As it stands in records."""
        return {"kind": FINETUNED, **vars(self)}

    def run(self) -> Finetuned:
        """The training itself, whatever is looked at of it."""
        usual: dict[str, Any] = {f.name: f.default for f in dataclasses.fields(self) if f.name in LOOKS}
        return dataclasses.replace(self, **usual)


def parse(spec: str | Finetuned | None) -> Finetuned | None:
    """None for a frozen encoder."""
    if spec is None or isinstance(spec, Finetuned):
        return spec
    name, pairs = split(spec)
    if name not in (FROZEN, FINETUNED):
        raise unknown("training", name, (FROZEN, FINETUNED))
    if name == FINETUNED:
        found: Finetuned = build(Finetuned, pairs, f"training {FINETUNED}")
        return found
    if pairs:
        raise UsageError("training frozen has no options: write finetuned:option=value, or frozen alone")
    return None


def from_record(asked: dict[str, Any] | None) -> Finetuned | None:
    """The training that a record was made with; None for a frozen encoder."""
    if not asked or asked.get("kind") != FINETUNED:
        return None
    return Finetuned(**{name: value for name, value in asked.items() if name != "kind"})


def described() -> list[dict[str, Any]]:
    """The values of `--training`, for `bench list`."""
    defaults = {f.name: str(f.default) for f in dataclasses.fields(Finetuned)}
    about = (Finetuned.__doc__ or "").strip()
    return [
        {
            "name": FROZEN,
            "summary": "The encoder as it was downloaded; a head learns from what is released.",
            "options": {},
            "explained": {},
        },
        {"name": FINETUNED, "summary": about, "options": defaults, "explained": explained(Path(__file__), "Finetuned")},
    ]
