"""Text → vector: the [CLS] token of a transformer, or the mean of its tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from bench.arrays import Floats
from bench.encoders import blocks, packed, weights
from bench.encoders.batching import encode_batches, tokens_of
from bench.encoders.packed import Architecture
from bench.plugins.decorators import encoder
from bench.system.processor import kernels


@dataclass(frozen=True)
class Transformer:
    """Any hub id or folder: `hub:org/name` or `hub:path`."""

    model: str
    """hub id or folder"""
    pooling: Literal["cls", "mean"] = "cls"
    """the first token, as the papers do, or the mean over all tokens"""
    max_length: int = 128
    """tokens after which a text is cut"""
    kernel: Literal["auto", "transformers", "packed"] = "auto"
    """auto: packed, which is some times as fast, for the families of BERT and MPNet, transformers for others. Vectors
    differ in the last bits, so one that is chosen counts as another encoder"""
    later: ClassVar[tuple[str, ...]] = ("kernel",)

    def encode(self, texts: Sequence[str], device: str = "cpu") -> Floats:
        """n × d float32; a pair is given as one string with a tab between its sentences."""
        if self.runs_packed:
            architecture, values, words = self._packed
            tokens = tokens_of(words, texts, min(self.max_length, architecture.positions))
            values = {name: value.to(device) for name, value in values.items()}
            return blocks.encode(values, architecture, tokens, mean=self.pooling == "mean", device=device)
        network, tokenizer = self._loaded
        network.to(device)

        def pooled(batch: dict[str, Any]) -> Any:
            hidden = network(**batch).last_hidden_state
            if self.pooling == "cls":
                return hidden[:, 0]
            seen = batch["attention_mask"].unsqueeze(2)
            return (hidden * seen).sum(1) / seen.sum(1)

        return encode_batches(pooled, tokenizer, texts, self.max_length, device)

    @property
    def fingerprint(self) -> str:
        """Changes when weights, tokenizer, pooling, length or kernel change."""
        text = f"{weights.fingerprint(self.folder)}|{self.pooling}|{self.max_length}"
        text += "" if self.kernel == "auto" else f"|{self.kernel}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def vectors_name(self) -> str:
        """Of the file that its vectors are cached in: those of other kernels differ in the last bits."""
        return f"{self.fingerprint}{'.packed' if self.kernel == 'auto' and self.runs_packed else ''}"

    @cached_property
    def runs_packed(self) -> bool:
        if self.kernel == "auto":
            return kernels() == "fast" and Architecture.known(self.folder)
        return self.kernel == "packed"

    @property
    def dim(self) -> int:
        import json

        size: int = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))["hidden_size"]
        return size

    @cached_property
    def folder(self) -> Path:
        """Where the weights are."""
        return weights.find(self.model)

    @cached_property
    def _packed(self) -> tuple[Architecture, dict[str, Any], Any]:
        architecture = Architecture.read(self.folder)
        return architecture, packed.load(self.folder, architecture), packed.tokenizer_of(self.folder)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()
        network = AutoModel.from_pretrained(self.folder, local_files_only=True)
        return network.eval(), AutoTokenizer.from_pretrained(self.folder, local_files_only=True)


@encoder("hub")
@dataclass(frozen=True)
class Hub(Transformer):
    """Any model of the hub or any folder: hub:org/name, hub:./folder."""


@encoder("minilm", paper="sentence-transformers/all-MiniLM-L6-v2")
@dataclass(frozen=True)
class MiniLM(Transformer):
    """all-MiniLM-L6-v2: 6 layers, 384 dimensions."""

    model: str = "sentence-transformers/all-MiniLM-L6-v2"


@encoder("mpnet", paper="sentence-transformers/all-mpnet-base-v2")
@dataclass(frozen=True)
class MPNet(Transformer):
    """all-mpnet-base-v2: 12 layers, 768 dimensions."""

    model: str = "sentence-transformers/all-mpnet-base-v2"


@encoder("bert", paper="Devlin et al. 2019")
@dataclass(frozen=True)
class Bert(Transformer):
    """bert-base-cased: 12 layers, 768 dimensions."""

    model: str = "google-bert/bert-base-cased"


@encoder("roberta", paper="Liu et al. 2019")
@dataclass(frozen=True)
class Roberta(Transformer):
    """roberta-base: 12 layers, 768 dimensions."""

    model: str = "FacebookAI/roberta-base"
