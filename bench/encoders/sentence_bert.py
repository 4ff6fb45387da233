"""The sentence encoder behind the `sbert` metric."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.arrays import PAIR, Floats
from bench.encoders import weights
from bench.encoders.batching import encode_batches
from bench.encoders.transformers import Transformer
from bench.errors import BenchError
from bench.system.files import read_text
from bench.system.processor import kernels
from bench.toolkit.search import unit


@dataclass(frozen=True)
class SentenceBert:
    """The off-the-shelf scorer behind the `sbert` metric; vectors have length 1."""

    model: str = "sentence-transformers/all-MiniLM-L6-v2"

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        plain = [text.replace(PAIR, " ") for text in texts]
        if kernels() == "fast":  # and the package need not be imported, which takes longer than a small run
            return unit(self._means.encode(plain, device))
        network = self._loaded.to(device)
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

    @property
    def vectors_name(self) -> str:
        """Of the file that its vectors are cached in: those of other kernels differ in the last bits."""
        return f"{self.fingerprint}{'.packed' if kernels() == 'fast' else ''}"

    @cached_property
    def folder(self) -> Path:
        """Where the weights are."""
        return weights.find(self.model)

    @cached_property
    def _means(self) -> Transformer:
        """The same network on the packed kernels: the mean of a text's tokens, cut where the package cuts it."""
        path = self.folder / "sentence_bert_config.json"
        try:
            longest = int(json.loads(read_text(path))["max_seq_length"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchError(f"{path} cannot be read ({error}): fetch the model again") from error
        return Transformer(str(self.folder), "mean", longest, "packed")

    @cached_property
    def _loaded(self) -> Any:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # it would write across our own
        return SentenceTransformer(str(self.folder), local_files_only=True).eval()
