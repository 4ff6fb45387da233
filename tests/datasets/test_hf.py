"""Data sets of the hub, from a folder laid out as the hub converts them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bench import Examples
from bench.errors import BenchError, DataError, UsageError
from bench.plugins.registry import Registry
from bench.system import hub


def load(spec: str, split: str = "train") -> Examples:
    examples: Examples = Registry().make("dataset", spec).load(split)
    return examples


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for split, rows in (("train", 6), ("validation", 4)):
        folder = tmp_path / "home" / "default" / split
        folder.mkdir(parents=True)
        table = pd.DataFrame({"text": [f"{split} {i}" for i in range(rows)], "label": [i % 2 for i in range(rows)]})
        table[: rows // 2].to_parquet(folder / "0000.parquet")
        table[rows // 2 :].to_parquet(folder / "0001.parquet")
    return tmp_path / "home"


def test_splits_are_put_together_from_their_parts(home: Path) -> None:
    assert load(f"hf:{home}").texts == [f"train {i}" for i in range(6)]
    dev = load(f"hf:{home}", "dev")
    assert (len(dev), dev.classes) == (4, ("0", "1"))
    assert len(load(f"hf:{home},split=validation")) == 4
    assert load(f"hf:{home}", "public").texts[0] == "train 0"


def test_the_hub_is_asked_for_its_own_conversion(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetch(repository: str, **said: str) -> Path:
        asked.append(repository)
        return home

    monkeypatch.setattr(hub, "parquet_folder", fetch)
    assert len(load("hf:org/name")) == 6
    assert asked == ["org/name"]


def test_what_is_not_there_is_answered_with_what_is(home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="validation"):
        load(f"hf:{home},dev=valid", "dev")
    with pytest.raises(UsageError, match="default"):
        load(f"hf:{home},config=defaul")
    (home / "other").mkdir()
    with pytest.raises(UsageError, match="default, other"):
        load(f"hf:{home}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no CONFIG/SPLIT"):
        load(f"hf:{tmp_path / 'empty'}")
    (home / "default" / "train" / "0000.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        load(f"hf:{home},config=default")


def test_without_the_hub_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def fail(*args: object, **options: object) -> str:
        raise OSError("unreachable")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(BenchError, match=r"cannot fetch the data set org/name .* or download it and write file:PATH"):
        load("hf:org/name")
