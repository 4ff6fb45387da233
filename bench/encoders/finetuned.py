"""An encoder that was fine-tuned through a defense: the weights of a base model, and in their place those that learnt.

Made by a training (bench.training), not by a user: it has no name on the command line. A vector is a function of its
text alone, bit for bit: blocks have a fixed number of rows, all of one length, so there is no padding either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bench.arrays import Floats
from bench.encoders import packed, weights
from bench.encoders.batching import tokens_of
from bench.encoders.packed import Architecture
from bench.errors import BenchError
from bench.plugins.decorators import encoder

# Texts of one length that are encoded at a time. Blocks that lack some are filled up.
ROWS = 16


@dataclass(frozen=True)
class FinetunedEncoder:
    """Text → vector by a checkpoint."""

    model: str
    """folder of the base model"""
    checkpoint: str
    """file of the weights that learnt; empty for the base model as it is"""
    rep: Literal["cls", "pooler"] = "cls"
    max_length: int = 128
    dropout: float = 0.0
    """of the trained layers, for a release with dropout on; 0: none"""
    layers: int = 0
    """top layers that drop; 0: all"""

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        import torch

        architecture, values, tokenizer, _ = self._loaded
        tokens = tokens_of(tokenizer, texts, min(self.max_length, architecture.positions))
        ids, types = tokens["input_ids"], tokens.get("token_type_ids")
        values = {name: value.to(device) for name, value in values.items()}
        found = np.empty((len(texts), architecture.dim), dtype=np.float32)
        lower = architecture.layers - self.layers if self.layers else 0
        with torch.no_grad():
            for rows in _blocks(ids):
                filled = np.resize(rows, ROWS)
                some = packed.pack([ids[i] for i in filled], types and [types[i] for i in filled], device)
                hidden = packed.embed(values, some, architecture)
                hidden = packed.layers(values, hidden, some, architecture, range(lower))
                first = packed.layers(
                    values,
                    hidden,
                    some,
                    architecture,
                    range(lower, architecture.layers),
                    dropout=self.dropout,
                    first_only=True,
                )
                first = packed.pooled(values, first) if self.rep == "pooler" else first
                found[rows] = first[: len(rows)].cpu().numpy()
        return found

    @property
    def fingerprint(self) -> str:
        learnt = weights.file_digest(Path(self.checkpoint)) if self.checkpoint else ""
        text = f"{weights.fingerprint(self.folder)}|{learnt}|{self.rep}|{self.max_length}"
        return f"finetuned-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    @property
    def vectors_folder(self) -> Path | None:
        """Its vectors are kept beside the checkpoint, and deleted with it."""
        return Path(self.checkpoint).parent / "vectors" if self.checkpoint else None

    @property
    def folder(self) -> Path:
        return Path(self.model)

    @property
    def head(self) -> dict[str, Floats]:
        """The head's weights, which were trained along."""
        return {name: value.numpy() for name, value in self._loaded[3].items()}

    @cached_property
    def _loaded(self) -> tuple[Architecture, dict[str, Any], Any, dict[str, Any]]:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        architecture = Architecture.read(self.folder)
        values, head = packed.load(self.folder, architecture), {}
        if self.checkpoint:
            try:
                learnt = load_file(self.checkpoint)
            except (OSError, SafetensorError) as error:
                raise BenchError(f"the checkpoint {self.checkpoint} cannot be read ({error}): run it again") from error
            head = {name: value for name, value in learnt.items() if name.startswith("head")}
            for name, value in learnt.items():
                if name in head:
                    continue
                if name not in values or values[name].shape != value.shape:
                    raise BenchError(f"the checkpoint {self.checkpoint} is of another model than {self.folder}")
                values[name] = value
        return architecture, values, packed.tokenizer_of(self.folder), head


def _blocks(ids: Sequence[Sequence[int]]) -> Iterator[Any]:
    """Rows of texts of one length, at most ROWS at a time."""
    lengths = np.array([len(some) for some in ids])
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        for at in range(0, len(rows), ROWS):
            yield rows[at : at + ROWS]


# Not written above the class: the registry lists what is, and nobody is to name this one.
encoder("finetuned")(FinetunedEncoder)
