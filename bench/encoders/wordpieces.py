"""The tokenizer of an encoder as one file: what an eavesdropper on updates tokenizes with, without transformers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.arrays import PAIR
from bench.errors import BenchError

# Texts that are tokenized at a time: what the tokenizer says of each is many times as large as its numbers.
BLOCK = 4096


def save(tokenizer: Any, path: Path) -> None:
    """Write transformers' tokenizer as the file that `WordPieces` reads."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise BenchError("this encoder's tokenizer is a slow one, without tokenizer.json: choose another --encoder")
    path.write_text(backend.to_str(), encoding="utf-8")


class WordPieces:
    """Texts to token numbers and back, cut as the model's own tokenizer cuts them."""

    def __init__(self, path: Path, max_length: int):
        from tokenizers import Tokenizer

        text = path.read_text(encoding="utf-8")
        self._tokenizer = Tokenizer.from_str(text)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self.special = frozenset(t["id"] for t in json.loads(text).get("added_tokens", ()) if t.get("special"))
        """numbers of [CLS], [SEP] and the like"""

    def __call__(self, texts: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
        """Token numbers and types of each text; a pair is one text with a tab between its sentences."""
        parts = [tuple(text.split(PAIR, 1)) if PAIR in text else text for text in texts]
        ids: list[list[int]] = []
        types: list[list[int]] = []
        for at in range(0, len(parts), BLOCK):
            found = self._tokenizer.encode_batch(parts[at : at + BLOCK])
            ids.extend(one.ids for one in found)
            types.extend(one.type_ids for one in found)
        return ids, types

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    @cached_property
    def frame(self) -> tuple[int, int]:
        """The token that opens a sentence and the one that ends it."""
        ids = self._tokenizer.encode("").ids
        return ids[0], ids[-1]

    @property
    def size(self) -> int:
        size: int = self._tokenizer.get_vocab_size()
        return size

    def word(self, token: int) -> str:
        """As it stands in the vocabulary."""
        return self._tokenizer.id_to_token(token) or ""
