"""The sentence encoder behind the `sbert` metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.arrays import PAIR, Floats
from bench.encoders import weights
from bench.encoders.batching import encode_batches
from bench.toolkit.search import unit


@dataclass(frozen=True)
class SentenceBert:
    """The off-the-shelf scorer behind the `sbert` metric; vectors have length 1."""

    model: str = "sentence-transformers/all-MiniLM-L6-v2"

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        network = self._loaded.to(device)
        plain = [text.replace(PAIR, " ") for text in texts]
        # Its own batching would make a vector depend, in the last bits, on the texts beside it.
        vectors = encode_batches(
            lambda batch: network(batch)["sentence_embedding"],
            network.tokenizer,
            plain,
            network.max_seq_length or 128,
            device,
        )
        return unit(vectors)

    @property
    def fingerprint(self) -> str:
        return f"sbert-{weights.fingerprint(self.folder)}"

    @cached_property
    def folder(self) -> Path:
        """Where the weights are."""
        return weights.find(self.model)

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # it would write across our own
        return SentenceTransformer(str(self.folder), local_files_only=True).eval()
