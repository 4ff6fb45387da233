"""Where a sentence of STS-B comes from, captions, forums or news: frozen vectors of an encoder tell these apart.

GLUE's single-sentence tasks are sentiment and acceptability, and the frozen vectors of a small encoder hold little of
the latter. What a sound release costs has to be measured on something that can be learnt from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bench import Examples, dataset
from bench.datasets.glue import Glue
from bench.system import hub

# Train and dev spell one of them differently.
GENRES = ("main-captions", "main-forum", "main-forums", "main-news")
NAMES = ("captions", "forums", "news")
NUMBER = (0, 1, 1, 2)


@dataset("stsb-genre", paper="Cer et al. 2017", public="mnli")
@dataclass(frozen=True)
class STSBGenre(Glue):
    """Single sentences of captions, forums and news, to be told apart: the first ones of STS-B's pairs."""

    task, config = "STS-B", "stsb-genre"
    text, hub_text = ("sentence1",), ("sentence1",)
    label, classes = "genre", GENRES

    def load(self, split: str) -> Examples:
        """`train`, `dev` without sentences that are in train, or `public`; a sentence of several pairs counts once."""
        found = super().load(split)
        if split == "public":
            return found
        seen = set(super().load("train").texts) if split == "dev" else set()
        first: dict[str, int] = {}
        for row, text in enumerate(found.texts):
            first.setdefault(text, row)
        rows = [row for text, row in first.items() if text not in seen]
        labels = np.array(NUMBER)[np.asarray(found.labels)[rows].astype(int)]
        return replace(found, texts=[found.texts[row] for row in rows], labels=labels.tolist(), classes=NAMES)

    def _from_hub(self, split: str) -> Examples:
        import pandas as pd

        # GLUE's own copy on the hub has no genres.
        path = hub.dataset_file(
            "mteb/stsbenchmark-sts",
            f"{split}.jsonl.gz",
            what=self.config,
            otherwise=f"set BENCH_DATA_DIR to a folder that holds glue/{self.task}/*.tsv, or use --dataset demo",
        )
        table = pd.read_json(path, lines=True, compression="gzip")
        columns = [table[c].astype(str).tolist() for c in self.hub_text]
        return self._examples(columns, table["genre"].tolist(), str(path))
