"""Transformers of a few thousand random weights, in folders like those of the hub: real files, made in a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "bird",
    "film",
    "plot",
    "actor",
    "was",
    "is",
    "not",
    "very",
    "good",
    "bad",
    "dull",
    "bright",
    "sings",
    "sleeps",
    "runs",
    "and",
    "but",
    ",",
    ".",
    "!",
]
SIZES: dict[str, Any] = {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
}
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def save_tiny(folder: Path, family: str = "bert", seed: int = 0, **changes: Any) -> Path:
    """A model of a family, with its tokenizer, in `folder`."""
    import torch
    from transformers import (
        AutoModel,
        BertConfig,
        BertTokenizerFast,
        DistilBertConfig,
        MPNetConfig,
        RobertaConfig,
    )

    # MPNet takes token 1 for padding, whatever its configuration says.
    vocabulary = [*(_SPECIAL if family != "mpnet" else ("[UNK]", "[PAD]", *_SPECIAL[2:])), *WORDS]
    config: Any
    if family == "distilbert":
        config = DistilBertConfig(vocab_size=len(vocabulary), dim=24, n_layers=2, n_heads=4, hidden_dim=48)
    else:
        kind = {"bert": BertConfig, "roberta": RobertaConfig, "mpnet": MPNetConfig}[family]
        config = kind(**{"vocab_size": len(vocabulary), "pad_token_id": vocabulary.index("[PAD]"), **SIZES, **changes})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        AutoModel.from_config(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def sentences(count: int, seed: int = 0, label: str = "good") -> tuple[list[str], list[int]]:
    """Made-up sentences of the tokenizer's words; the label says whether one word is among them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    plain = [word for word in WORDS if word not in ("good", "bad")]
    texts, labels = [], []
    for at in range(count):
        words = list(rng.choice(plain, rng.integers(3, 12)))
        labels.append(at % 2)
        words[rng.integers(len(words))] = label if at % 2 else "bad"
        texts.append(" ".join(words))
    return texts, labels
