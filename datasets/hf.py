"""Any data set of the Hugging Face hub that has a text column and a label column, or a folder of the same layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import DataError, Examples, dataset
from bench.datasets.file import labelled
from bench.errors import unknown
from bench.system import hub


@dataset("hf", metrics=("accuracy", "pearson"))
@dataclass(frozen=True)
class HubDataset:
    """A data set of the hub: hf:org/name,config=CONFIG,text=COLUMN,label=COLUMN."""

    name: str
    """its id on the hub, or a folder with CONFIG/SPLIT/*.parquet"""
    config: str = ""
    """which of its configurations; needed if there are several"""
    text: str = ""
    """column of the sentence; by default text, sentence, ..."""
    pair: str = ""
    """column of the second sentence of a pair, if there is one"""
    label: str = ""
    """column of the label; by default label, target, ..."""
    split: str = "train"
    """where private examples come from"""
    dev: str = "validation"
    """what models are judged on"""
    skip_missing: bool = False
    """leave out rows without a text or a label"""

    def load(self, split: str) -> Examples:
        if split == "public":
            distinct = list(dict.fromkeys(self.load("train").texts))
            return Examples(distinct, [0.0] * len(distinct))
        path = self._folder(self.dev if split == "dev" else self.split)
        return labelled(_table(path), path, self.text, self.pair, self.label, skip=self.skip_missing)

    def _folder(self, split: str) -> Path:
        home = Path(self.name).expanduser()
        if not home.is_dir():
            advice = "or download it and write file:PATH"
            home = hub.parquet_folder(self.name, what=f"the data set {self.name}", otherwise=advice)
        configs = sorted(path.name for path in home.iterdir() if path.is_dir())
        if not configs:
            raise DataError(f"{self.name} holds no CONFIG/SPLIT/*.parquet")
        if self.config not in configs and (self.config or len(configs) > 1):
            raise unknown(f"config of {self.name}:", self.config, configs)
        config = home / (self.config or configs[0])
        splits = sorted(path.name for path in config.iterdir() if any(path.glob("*.parquet")))
        if split not in splits:
            raise unknown(f"split of {self.name}:", split, splits)
        return config / split


def _table(folder: Path) -> Any:
    import pandas as pd

    try:
        return pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))], ignore_index=True)
    except (ValueError, OSError) as error:
        raise DataError(f"{folder} cannot be read as parquet: {str(error).splitlines()[0][:200]}") from error
