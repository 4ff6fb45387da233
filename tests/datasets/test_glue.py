"""The loaders on small files that have the real ones' oddities, and on the real ones where they are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.errors import BenchError, DataError
from bench.plugins.registry import Registry

FILES = {
    "CoLA": ("gj04\t1\t\tThe sailors rode the breeze.\ngj04\t0\t*\tSailors the rode.\n", "dev"),
    "SST-2": ("sentence\tlabel\nhide new secretions \t0\na joy \t1\n", "dev"),
    "MRPC": ('\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t7\t8\tHe said " no .\tHe " said no .\n', "dev"),
    "STS-B": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
        "0\ta\tb\tc\td\te\tf\tA plane.\tAn air plane.\t4.750\n",
        "dev",
    ),
    "RTE": ("index\tsentence1\tsentence2\tlabel\n0\tNo weapons.\tWeapons.\tnot_entailment\n", "dev"),
    "QNLI": ("index\tquestion\tsentence\tlabel\n0\tWhen?\tThen.\tentailment\n", "dev"),
    "QQP": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tHow?\tWhy?\t0\n", "dev"),
    "MNLI": ("index\tsentence1\tsentence2\tgold_label\n0\tRights are nice\tGood\tneutral\n", "dev_matched"),
}
NAMES = {
    "CoLA": "cola",
    "SST-2": "sst2",
    "MRPC": "mrpc",
    "STS-B": "stsb",
    "RTE": "rte",
    "QNLI": "qnli",
    "QQP": "qqp",
    "MNLI": "mnli",
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for task, (text, dev) in FILES.items():
        folder = tmp_path / "glue" / task
        folder.mkdir(parents=True)
        (folder / "train.tsv").write_text(text, encoding="utf-8")
        (folder / f"{dev}.tsv").write_text(text, encoding="utf-8")
    monkeypatch.setenv("BENCH_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("task", FILES)
def test_every_task_is_read_in_both_splits(task: str, data: Path) -> None:
    made = Registry().make("dataset", NAMES[task])
    train, dev = made.load("train"), made.load("dev")
    assert train.texts == dev.texts
    assert len(train) == len(train.labels) > 0
    assert all(("\t" in text) == (task not in ("CoLA", "SST-2")) for text in train.texts)


def test_what_is_read_is_what_is_written(data: Path) -> None:
    make = Registry().make
    cola = make("dataset", "cola").load("train")
    assert cola.texts == ["The sailors rode the breeze.", "Sailors the rode."]
    assert cola.labels.tolist() == [1, 0]
    assert make("dataset", "mrpc").load("train").texts == ['He said " no .\tHe " said no .']
    stsb = make("dataset", "stsb").load("train")
    assert stsb.classes == ()
    assert stsb.targets().tolist() == [[4.75]]
    assert make("dataset", "rte").load("train").labels.tolist() == [1]
    assert make("dataset", "mnli").load("dev").classes[1] == "neutral"
    assert np.array_equal(make("dataset", "sst2").load("train").targets(), np.eye(2))


def test_the_public_split_is_single_sentences_without_labels(data: Path) -> None:
    assert Registry().make("dataset", "mnli").load("public").texts == ["Rights are nice", "Good"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("sentence\tlabel\n", "is empty"),
        ("sentence\tmark\na\t1\n", "lacks the column 'label'; it has sentence, mark"),
        ("sentence\tlabel\na\t7\n", "label '7' is none of 0, 1"),
        ("sentence\tlabel\na b\n", "line 2: 1 fields where 2 were expected"),
    ],
)
def test_bad_files_are_explained(data: Path, text: str, said: str) -> None:
    (data / "glue" / "SST-2" / "train.tsv").write_text(text)
    with pytest.raises(DataError, match=said):
        Registry().make("dataset", "sst2").load("train")


def test_bytes_that_are_not_utf_8_are_explained(data: Path) -> None:
    (data / "glue" / "SST-2" / "train.tsv").write_bytes(b"sentence\tlabel\ncaf\xe9\t1\n")
    with pytest.raises(DataError, match="not UTF-8"):
        Registry().make("dataset", "sst2").load("train")


def test_a_missing_task_and_an_unknown_split_are_explained(data: Path) -> None:
    with pytest.raises(DataError, match="use train, dev or public"):
        Registry().make("dataset", "sst2").load("test")
    (data / "glue" / "SST-2" / "train.tsv").unlink()
    with pytest.raises(DataError, match="or unset it to use the hub"):
        Registry().make("dataset", "sst2").load("train")


def test_the_hub_serves_where_no_folder_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's parquet layout, from a local folder in place of the network."""
    monkeypatch.delenv("BENCH_DATA_DIR", raising=False)
    asked: list[str] = []

    def download(repo: str, name: str, repo_type: str, local_files_only: bool) -> str:
        asked.append(f"{repo}/{name}")
        path = tmp_path / "table.parquet"
        columns = {"premise": ["a"], "hypothesis": ["b"]} if "mnli" in name else {"sentence": ["a"]}
        pd.DataFrame({**columns, "label": [1], "idx": [0]}).to_parquet(path)
        return str(path)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert Registry().make("dataset", "sst2").load("train").texts == ["a"]
    mnli = Registry().make("dataset", "mnli").load("dev")
    assert mnli.texts == ["a\tb"]
    assert mnli.classes[mnli.labels[0]] == "neutral"
    assert asked[1] == "nyu-mll/glue/mnli/validation_matched-00000-of-00001.parquet"


def test_no_hub_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_DATA_DIR", raising=False)

    def download(*_: object, **__: object) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    with pytest.raises(BenchError, match="set BENCH_DATA_DIR to a folder that holds glue/CoLA"):
        Registry().make("dataset", "cola").load("train")


@pytest.mark.realdata
@pytest.mark.skipif(not os.environ.get("BENCH_DATA_DIR"), reason="BENCH_DATA_DIR is not set: no real GLUE files here")
@pytest.mark.parametrize(
    ("name", "train", "dev"),
    [
        ("cola", 8551, 1043),
        ("sst2", 67349, 872),
        ("mrpc", 3667, 408),
        ("stsb", 5749, 1500),
        ("rte", 2490, 277),
        ("mnli", 10000, 9815),
    ],
)
def test_the_real_files_have_their_published_sizes(name: str, train: int, dev: int) -> None:
    made = Registry().make("dataset", name)
    assert (len(made.load("train")), len(made.load("dev"))) == (train, dev)
