"""Sentences of film reviews without labels: a large public corpus."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench import DataError, Examples, dataset
from bench.system import hub
from bench.system.paths import data_dir
from bench.system.text import read_lines

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataset("imdb", paper="Maas et al. 2011")
@dataclass(frozen=True)
class IMDB:
    """Unlabelled film-review sentences, for use as a public corpus (public=imdb)."""

    limit: int = 20000
    """sentences taken from the start; encoding all 150,000 takes minutes"""

    def __post_init__(self) -> None:
        if self.limit < 2:
            raise ValueError("limit must be at least 2")

    def load(self, split: str) -> Examples:
        if split != "public":
            raise DataError("imdb has no labels here: use it as a public corpus, with public=imdb")
        folder = data_dir()
        lines = read_lines(folder / "public" / "imdb-sentences.txt.gz") if folder else _from_hub()
        texts = list(dict.fromkeys(lines))[: self.limit]
        return Examples(texts, [0.0] * len(texts))


def _from_hub() -> list[str]:
    import pandas as pd

    path = hub.dataset_file(
        "stanfordnlp/imdb",
        "plain_text/unsupervised-00000-of-00001.parquet",
        what="imdb",
        otherwise="or set BENCH_DATA_DIR to a folder that holds public/imdb-sentences.txt.gz",
    )
    reviews = pd.read_parquet(path)["text"].str.replace("<br />", " ", regex=False)
    return [" ".join(s.split()) for review in reviews for s in _SENTENCE.split(review) if len(s.split()) > 3]
